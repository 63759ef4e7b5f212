# Installs the build tree, builds examples/cpp against the installed tree as an outside project would, and runs it.
# Arguments: BUILD, SOURCE, WORK (removed first), CXX, NM
file(REMOVE_RECURSE ${WORK})
function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

step("install" ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
step("configuring the outside project" ${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/examples/cpp -B ${WORK}/example -DCMAKE_PREFIX_PATH=${WORK}/prefix
     -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror ${FLAGS}")
step("building the outside project" ${CMAKE_COMMAND} --build ${WORK}/example)
step("running the outside project" ${CMAKE_COMMAND} -E chdir ${WORK} ${WORK}/example/cluster)
message(STATUS "the outside project says:\n${output}")
step("the installed program" ${WORK}/prefix/bin/pergola --version)

# Only what the public headers declare is exported: nothing of the inside, nothing of the libraries within.
file(GLOB library ${WORK}/prefix/lib*/libpergola.so ${WORK}/prefix/lib*/*/libpergola.so)
step("nm" ${NM} -DC --defined-only ${library})
foreach(inside "pergola::make_direct_cpu" "pergola::to_text" " T fmt::" "toml::" "H5")
  string(FIND "${output}" "${inside}" found)
  if(NOT found EQUAL -1)
    message(FATAL_ERROR "libpergola.so exports ${inside}, expected PERGOLA_API symbols only")
  endif()
endforeach()
if(NOT output MATCHES "pergola::make_solver")
  message(FATAL_ERROR "libpergola.so does not export pergola::make_solver")
endif()
