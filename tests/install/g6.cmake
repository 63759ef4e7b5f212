# Installs the build tree, builds examples/g6 against the installed libg6 with its CMake package and with pkg-config, and runs it.
# Arguments: BUILD, SOURCE, WORK (removed first), CC, FLAGS
file(REMOVE_RECURSE ${WORK})
function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()
# Runs an example; its energy error is to be below 1e-6.
function(run_example program)
  step("${program}" ${CMAKE_COMMAND} -E env PERGOLA_DEVICE=cpu ${program} 128 0.5)
  if(NOT output MATCHES "relative error *-?[0-9].[0-9]+[eE]-(0[789]|[1-9][0-9])")
    message(FATAL_ERROR "${program}: expected an energy error below 1e-6, found: ${output}")
  endif()
endfunction()

step("install" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
step("configuring the example" ${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/examples/g6 -B ${WORK}/example -DCMAKE_PREFIX_PATH=${WORK}/prefix
     -DCMAKE_C_COMPILER=${CC} -DCMAKE_BUILD_TYPE=Release "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror ${FLAGS}" "-DCMAKE_Fortran_FLAGS=${FLAGS}")
step("building the example" ${CMAKE_COMMAND} --build ${WORK}/example)
file(GLOB examples ${WORK}/example/hermite_*)
foreach(example IN LISTS examples)
  run_example(${example})
endforeach()

# pkg-config, with the shared library and with the archive alone.
file(GLOB_RECURSE pc ${WORK}/prefix/g6.pc)
get_filename_component(folder ${pc} DIRECTORY)
get_filename_component(library_folder ${folder} DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${folder})
foreach(form shared static)
  set(pkg_config pkg-config --cflags --libs)
  if(form STREQUAL static)
    list(APPEND pkg_config --static)
    file(REMOVE ${library_folder}/libg6.so)
  endif()
  step("pkg-config" ${pkg_config} g6)
  string(STRIP "${output}" flags)
  separate_arguments(flags UNIX_COMMAND "${flags} ${FLAGS}")
  step("building with pkg-config (${form})" ${CC} -O2 ${SOURCE}/examples/g6/hermite.c -o ${WORK}/hermite_${form} ${flags} -lm
       -Wl,-rpath,${library_folder})
  run_example(${WORK}/hermite_${form})
endforeach()

# kirin's names.
file(WRITE ${WORK}/kirin.c "#include <g6_kirin.h>\nint main(void) { return GPU_open(0) || GPU_npipes() < 1 || GPU_close(0); }\n")
step("building with kirin's names" ${CC} ${WORK}/kirin.c -o ${WORK}/kirin ${flags})
step("running with kirin's names" ${WORK}/kirin)
