# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# How tests are declared: unit test programs, and scripts run as tests.
#
# Exit codes everywhere: 0 passed, 77 skipped (with the reason on stdout), else
# failed.
#
#   usiw_add_test(<name> SOURCES <c files> [LIBS <targets>] [INCLUDES <dirs>]
#                 [LABELS <labels>] [TIMEOUT <s>] [ENV <A=b>] [OVER <path>]
#                 [ONLY_OVER <path>] [SERIAL] [LONG] [UNIT])
#       A cmocka program of that name in build/bin, run as test <name>. If it
#       has no main(), it gets that of tests/harness/case.c.  UNIT:
#       it needs no network, no device and no other program.  It gets the label
#       unit, and target usiw-unit-tests builds it, for builders of packages.
#
#   usiw_add_script_test(<name> COMMAND <cmd...> [LABELS <labels>]
#                 [TIMEOUT <s>] [ENV <A=b>] [OVER <path>]
#                 [ONLY_OVER <path>] [ONLY_WITH <name>] [SERIAL] [LONG]
#                 [CROSS])
#       A command run as test <name> in the build directory, with
#       USIW_SOURCE_DIR and USIW_BUILD_DIR in its environment.  ONLY_WITH: it
#       runs only with ctest -C <name>.  CROSS: a build for another machine has
#       it, too.  It has no other script tests.
#
# LONG: `make check-long` runs it, and the sanitizers do; `make check` does not.
# It is slow, large, or a search at random: ctest -C long, label long.
#
# Labels are described in tests/README.md. The default is fast.
#
# OVER wire|local: the path of connections that stay on this host, as
# tests/README.md describes: TCP, or shared memory. Without it, local. So no test
# depends on the default of USIW_LOCAL. ONLY_OVER: the same, and USIW_TEST_OVER
# does not change it: the test examines that path, or exists for either. OVER
# both: a script test is two tests, <name> over the wire and <name>-local.
set(USIW_TEST_OVER "" CACHE STRING
	"wire or local: the path of all tests that can use both; empty: each as \
its CMakeLists.txt says")
set_property(CACHE USIW_TEST_OVER PROPERTY STRINGS "" wire local)

if(USIW_TESTS)
	pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
	add_custom_target(usiw-unit-tests)
	# What the tests with the label threads need beside usiw-products.
	add_custom_target(usiw-thread-tests)
endif()

# The setting that makes a test use a path.
function(usiw_test_path over only_over ret_env)
	set(path local)
	if(only_over)
		set(path ${only_over})
	elseif(USIW_TEST_OVER)
		set(path ${USIW_TEST_OVER})
	elseif(over)
		set(path ${over})
	endif()
	set(env_wire USIW_LOCAL=off)
	set(env_local USIW_LOCAL=auto)
	if(NOT env_${path})
		message(FATAL_ERROR "a test is over wire or local, not ${path}")
	endif()
	set(${ret_env} ${env_${path}} PARENT_SCOPE)
endfunction()

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
	cmake_parse_arguments(T "SERIAL;LONG;UNIT" "TIMEOUT;OVER;ONLY_OVER"
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
	target_link_libraries(${name} PRIVATE ${T_LIBS} test-case PkgConfig::CMOCKA
		Threads::Threads)
	set(only_with)
	if(T_LONG)
		set(only_with long)
		list(APPEND T_LABELS slow long)
	endif()
	add_test(NAME ${name} COMMAND ${name} CONFIGURATIONS ${only_with})
	if(T_UNIT)
		if(NOT T_LABELS)
			set(T_LABELS fast)
		endif()
		list(APPEND T_LABELS unit)
		add_dependencies(usiw-unit-tests ${name})
	endif()
	if(threads IN_LIST T_LABELS)
		add_dependencies(usiw-thread-tests ${name})
	endif()
	usiw_test_path("${T_OVER}" "${T_ONLY_OVER}" path_env)
	usiw_test_properties(${name} "${T_LABELS}" "${T_TIMEOUT}"
		"${path_env};${T_ENV}" "${T_SERIAL}")
endfunction()

function(usiw_add_script_test name)
	cmake_parse_arguments(T "SERIAL;LONG;CROSS"
		"TIMEOUT;ONLY_WITH;OVER;ONLY_OVER"
		"COMMAND;LABELS;ENV" ${ARGN})
	if("${T_OVER}" STREQUAL both AND NOT T_ONLY_OVER)
		usiw_add_script_test(${name} ${ARGN} ONLY_OVER wire)
		usiw_add_script_test(${name}-local ${ARGN} ONLY_OVER local)
		return()
	endif()
	if(CMAKE_CROSSCOMPILING AND NOT T_CROSS)
		return()
	endif()
	if(T_LONG)
		set(T_ONLY_WITH long)
		list(APPEND T_LABELS slow long)
		list(REMOVE_DUPLICATES T_LABELS)
	endif()
	add_test(NAME ${name} COMMAND ${T_COMMAND} COMMAND_EXPAND_LISTS
		CONFIGURATIONS ${T_ONLY_WITH}
		WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
	if(threads IN_LIST T_LABELS)
		foreach(word ${T_COMMAND})
			if(word MATCHES "TARGET_FILE:([^>]+)>")
				set(word ${CMAKE_MATCH_1})
			endif()
			if(TARGET ${word})
				add_dependencies(usiw-thread-tests ${word})
			endif()
		endforeach()
	endif()
	usiw_test_path("${T_OVER}" "${T_ONLY_OVER}" path_env)
	usiw_test_properties(${name} "${T_LABELS}" "${T_TIMEOUT}"
		"${path_env};${T_ENV}" "${T_SERIAL}")
endfunction()
