# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# How tests are declared: unit test programs, and scripts run as tests.
#
# Exit codes everywhere: 0 passed, 77 skipped (with the reason on stdout), else
# failed.
#
#   usiw_add_test(<name> SOURCES <c files> [LIBS <targets>] [INCLUDES <dirs>]
#                 [LABELS <labels>] [TIMEOUT <s>] [ENV <A=b>] [SERIAL] [UNIT])
#       A cmocka program of that name in build/bin, run as test <name>.  UNIT:
#       it needs no network, no device and no other program.  It gets the label
#       unit, and target usiw-unit-tests builds it, for builders of packages.
#
#   usiw_add_script_test(<name> COMMAND <cmd...> [LABELS <labels>]
#                 [TIMEOUT <s>] [ENV <A=b>] [ONLY_WITH <name>] [SERIAL]
#                 [CROSS])
#       A command run as test <name> in the build directory, with
#       USIW_SOURCE_DIR and USIW_BUILD_DIR in its environment.  ONLY_WITH: it
#       runs only with ctest -C <name>.  CROSS: a build for another machine has
#       it, too.  It has no other script tests.
#
# Labels are described in tests/README.md. The default is fast.

if(USIW_TESTS)
	pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
	add_custom_target(usiw-unit-tests)
endif()

function(usiw_test_properties name labels timeout env is_serial)
	if(NOT labels)
		set(labels fast)
	endif()
	if(NOT timeout) # long enough for a loaded machine; only hangs end so
		set(timeout 300)
	endif()
	set_tests_properties(${name} PROPERTIES
		SKIP_RETURN_CODE 77
		LABELS "${labels}"
		TIMEOUT "${timeout}"
		ENVIRONMENT "USIW_SOURCE_DIR=${CMAKE_SOURCE_DIR};USIW_BUILD_DIR=${CMAKE_BINARY_DIR};${env}")
	# They begin first, so that none of them runs alone at the end.
	if(labels MATCHES "slow|programs")
		set_tests_properties(${name} PROPERTIES COST 1)
	endif()
	if(is_serial)
		set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
	endif()
endfunction()

function(usiw_add_test name)
	cmake_parse_arguments(T "SERIAL;UNIT" "TIMEOUT"
		"SOURCES;LIBS;INCLUDES;LABELS;ENV" ${ARGN})
	if(NOT CMOCKA_FOUND)
		message(FATAL_ERROR "test ${name} needs cmocka "
			"(Debian: libcmocka-dev); scripts/install-deps names all")
	endif()
	add_executable(${name} ${T_SOURCES})
	target_include_directories(${name} PRIVATE
		${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/tests/harness
		${T_INCLUDES})
	# cmocka passes a state to every case; most do not use it.
	target_compile_options(${name} PRIVATE -Wno-unused-parameter)
	target_link_libraries(${name} PRIVATE ${T_LIBS} PkgConfig::CMOCKA
		Threads::Threads)
	add_test(NAME ${name} COMMAND ${name})
	if(T_UNIT)
		if(NOT T_LABELS)
			set(T_LABELS fast)
		endif()
		list(APPEND T_LABELS unit)
		add_dependencies(usiw-unit-tests ${name})
	endif()
	usiw_test_properties(${name} "${T_LABELS}" "${T_TIMEOUT}" "${T_ENV}"
		"${T_SERIAL}")
endfunction()

function(usiw_add_script_test name)
	cmake_parse_arguments(T "SERIAL;CROSS" "TIMEOUT;ONLY_WITH"
		"COMMAND;LABELS;ENV" ${ARGN})
	if(CMAKE_CROSSCOMPILING AND NOT T_CROSS)
		return()
	endif()
	add_test(NAME ${name} COMMAND ${T_COMMAND} COMMAND_EXPAND_LISTS
		CONFIGURATIONS ${T_ONLY_WITH}
		WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
	usiw_test_properties(${name} "${T_LABELS}" "${T_TIMEOUT}" "${T_ENV}"
		"${T_SERIAL}")
endfunction()
