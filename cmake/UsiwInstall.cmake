# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Destinations of the products. Modules define targets; this file installs
# those that exist.
#
# The provider and the preload library find libusiw-rnic-*.so by a RUNPATH
# relative to themselves, so that an installed tree may be moved as a whole.

# usiw-products: what is installed, without the tests.
add_custom_target(usiw-products)
foreach(product usiw-rnic usiw-kabi usiw-check usiw-provider usiw-tool usiw-dv siw-mpa
		siw-mpa-shared sdp-pmd sdpstat)
	if(TARGET ${product})
		add_dependencies(usiw-products ${product})
	endif()
endforeach()

set(USIW_PRIVATE_LIBDIR ${CMAKE_INSTALL_LIBDIR}/usiw)
set(USIW_VERBS_LIBDIR ${CMAKE_INSTALL_LIBDIR}/libibverbs)

function(usiw_install_module target dir rpath)
	if(NOT TARGET ${target})
		return()
	endif()
	# The same in both trees: CMake would pad a build RPATH that it
	# rewrites at install with empty entries, and these mean the current
	# directory.
	set_target_properties(${target} PROPERTIES
		INSTALL_RPATH "${rpath}"
		BUILD_WITH_INSTALL_RPATH TRUE)
	install(TARGETS ${target} LIBRARY DESTINATION ${dir})
endfunction()

# Removes the library of an earlier build, which has another name.
if(TARGET usiw-rnic)
	install(CODE "
		set(dir \"\${CMAKE_INSTALL_PREFIX}/${USIW_PRIVATE_LIBDIR}\")
		if(IS_ABSOLUTE \"${USIW_PRIVATE_LIBDIR}\")
			set(dir \"${USIW_PRIVATE_LIBDIR}\")
		endif()
		file(GLOB old \"\$ENV{DESTDIR}\${dir}/libusiw-rnic*.so\")
		list(FILTER old EXCLUDE REGEX \"${USIW_RNIC_NAME}.so\")
		if(old)
			message(STATUS \"Removing: \${old}\")
			file(REMOVE \${old})
		endif()")
endif()
usiw_install_module(usiw-rnic ${USIW_PRIVATE_LIBDIR} "$ORIGIN")
usiw_install_module(usiw-kabi ${USIW_PRIVATE_LIBDIR} "$ORIGIN")
usiw_install_module(usiw-provider ${USIW_VERBS_LIBDIR}
	"$ORIGIN/../usiw;$ORIGIN")
if(TARGET usiw-provider)
	get_target_property(links usiw-provider USIW_LINKS)
	foreach(link IN LISTS links)
		install(FILES $<TARGET_FILE_DIR:usiw-provider>/${link}
			DESTINATION ${USIW_VERBS_LIBDIR})
	endforeach()
endif()

if(TARGET usiw-check)
	install(TARGETS usiw-check LIBRARY DESTINATION ${USIW_PRIVATE_LIBDIR})
endif()
if(TARGET usiw-tool)
	install(TARGETS usiw-tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET usiw-dv)
	install(TARGETS usiw-dv LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
	install(FILES providers/usiw/include/infiniband/usiwdv.h
		DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/infiniband)
	install(FILES ${CMAKE_BINARY_DIR}/providers/usiw/libusiw.pc
		DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
if(TARGET siw-mpa-shared)
	install(TARGETS siw-mpa-shared
		LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET siw-mpa)
	install(TARGETS siw-mpa ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
	install(FILES libsiw-mpa/include/siw-mpa.h
		DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()

# The system's libibverbs reads libibverbs.d only below /etc, which belongs to
# the prefix /usr. With any other prefix the file goes below that prefix,
# because nothing is written outside it; `usiw run` names the provider itself.
if(TARGET usiw-provider)
	install(CODE "
		set(driver_dir \"${CMAKE_INSTALL_SYSCONFDIR}\")
		if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
			set(driver_dir \"/etc\")
		elseif(NOT IS_ABSOLUTE \"\${driver_dir}\")
			set(driver_dir
				\"\${CMAKE_INSTALL_PREFIX}/\${driver_dir}\")
		endif()
		file(INSTALL \"${CMAKE_SOURCE_DIR}/cmake/usiw.driver\"
			DESTINATION \"\${driver_dir}/libibverbs.d\")")
endif()
if(TARGET usiw-tool)
	install(FILES man/usiw.1 man/usiw-capture.1 man/usiw-check.1 man/usiw-stat.1
		man/usiw-top.1 man/usiw-trace.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
	install(FILES man/usiw.7 man/usiw-fault.7 man/usiw-probes.7
		DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)
	install(FILES tools/usiw.bash RENAME usiw
		DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()

if(TARGET usiw-sdp)
	add_dependencies(usiw-products usiw-sdp)
	# It is preloaded and never linked to. Other software has a libsdp.so
	# in the linker's directory (for semidefinite programming).
	install(TARGETS usiw-sdp LIBRARY DESTINATION ${USIW_PRIVATE_LIBDIR})
	install(FILES man/libsdp.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)
endif()
if(TARGET sdp-pmd)
	install(TARGETS sdpstat RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
	install(TARGETS sdp-pmd RUNTIME DESTINATION ${CMAKE_INSTALL_SBINDIR})
	install(FILES ${CMAKE_BINARY_DIR}/sdp/sdp-pmd.service
		DESTINATION lib/systemd/system)
	install(FILES man/sdpstat.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
	install(FILES man/libsdp.conf.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
	install(FILES man/sdp-pmd.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
endif()
