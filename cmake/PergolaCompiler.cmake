# Language level, warnings as errors, and the floating-point rules that bit-identity rests on.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -DNDEBUG")

set(PERGOLA_CXX_FLAGS -Wall -Wextra -Wconversion -Wshadow -Wno-sign-conversion -Werror -ffp-contract=off)
# Highway's NEON counts the AES instructions in. Where the compiler does not, the constructors that it writes itself cannot call Highway's.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  list(APPEND PERGOLA_CXX_FLAGS -march=armv8-a+crypto)
endif()
# FMT_USE_CONSTEXPR: fmt 9 believes that nvcc has no constexpr and then fails to check its format strings.
set(PERGOLA_CUDA_FLAGS -DFMT_USE_CONSTEXPR=1 --Werror=all-warnings --expt-relaxed-constexpr --extended-lambda
    -Xcompiler=-Wall,-Wextra,-Werror,-ffp-contract=off)

# Files of loops that ask for more than -O2 take it from here.
set(PERGOLA_LOOPS_OPTIMISE -O3)

# pergola_precompile(TARGET [HEADER…]): compiles cmake/precompiled.hpp and the headers once, for all files of a target. Not where a compiler cache stands
# before the compiler, which keeps nothing that was compiled from them: it also sees to it that files include what they use.
function(pergola_precompile target)
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    return()
  endif()
  set(headers "${PROJECT_SOURCE_DIR}/cmake/precompiled.hpp")
  foreach(header IN LISTS ARGN)
    list(APPEND headers "<${header}$<ANGLE-R>")
  endforeach()
  foreach(header IN LISTS headers)
    target_precompile_headers(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${header}>")
  endforeach()
endfunction()

# Sanitizers: little optimisation, line numbers only, and one instruction set instead of three, to keep build and tests short.
set(PERGOLA_SANITIZE "" CACHE STRING "Sanitizers, for example address,undefined")
if(PERGOLA_SANITIZE)
  set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1")
  set(CMAKE_C_FLAGS_SANITIZE "-O1 -g1")
  set(PERGOLA_LOOPS_OPTIMISE -O1)
  list(REMOVE_ITEM PERGOLA_CXX_FLAGS -Werror)  # instrumented code makes g++ see what is not there
  add_compile_definitions(HWY_COMPILE_ONLY_STATIC)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${PERGOLA_SANITIZE}> $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  add_link_options(-fsanitize=${PERGOLA_SANITIZE})
  # Files of vectors, whose every number would be checked in place: 45 s instead of 108 for the longest. The address sanitizer finds null references all the
  # same, and instructions on vectors fault where those are not aligned.
  set(PERGOLA_SANITIZE_LOOPS)
  if(PERGOLA_SANITIZE MATCHES "address")
    list(APPEND PERGOLA_SANITIZE_LOOPS --param=asan-instrumentation-with-call-threshold=0 -fno-sanitize=null,alignment)
  endif()
endif()
