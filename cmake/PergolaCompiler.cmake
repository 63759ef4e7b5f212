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
option(PERGOLA_CUDA_QUICK "CUDA code is compiled with little optimisation, to see that it compiles: a shorter build" OFF)
set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -DNDEBUG")
if(PERGOLA_CUDA_QUICK)  # -O is for the host's code, which takes a third of the time
  set(CMAKE_CUDA_FLAGS_RELEASE "-O0 -Xcicc -O1 -Xptxas -O1 -DNDEBUG")
endif()

set(PERGOLA_CXX_FLAGS -Wall -Wextra -Wconversion -Wshadow -Wno-sign-conversion -Werror -ffp-contract=off)
# Highway's NEON counts the AES instructions in. Where the compiler does not, the constructors that it writes itself cannot call Highway's.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  list(APPEND PERGOLA_CXX_FLAGS -march=armv8-a+crypto)
endif()
# FMT_USE_CONSTEXPR: fmt 9 believes that nvcc has no constexpr and then fails to check its format strings.
set(PERGOLA_CUDA_FLAGS -DFMT_USE_CONSTEXPR=1 --Werror=all-warnings --expt-relaxed-constexpr --extended-lambda
    -Xcompiler=-Wall,-Wextra,-Wshadow,-Werror,-ffp-contract=off)

# Files of loops that ask for more than -O2 take it from here; those that read, check and say things, and call others for the work, need less.
set(PERGOLA_LOOPS_OPTIMISE -O3)
set(PERGOLA_WORDS_OPTIMISE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>)

# Loops are compiled for each instruction set that a processor may have, and the best is taken when the program starts.
option(PERGOLA_THIS_PROCESSOR "Loops for this machine's best instruction set and the plainest only: a shorter build" OFF)
if(PERGOLA_THIS_PROCESSOR AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND EXISTS /proc/cpuinfo)
  file(STRINGS /proc/cpuinfo processor_flags REGEX "^flags" LIMIT_COUNT 1)
  set(unused HWY_AVX2)
  foreach(flag avx512f avx512vl avx512dq avx512bw avx512cd)
    if(NOT " ${processor_flags} " MATCHES " ${flag} ")
      set(unused HWY_AVX3)
    endif()
  endforeach()
  add_compile_definitions(PERGOLA_UNUSED_SIMD_TARGETS=${unused})
endif()

# What shortens a build from nothing, and is not done where a compiler cache stands before the compiler: that is for who builds again and again, when a changed
# file is to be compiled alone; it also sees to it that files include what they use.
#   pergola_precompile(TARGET [HEADER…]): cmake/precompiled.hpp and the headers are compiled once for all files of a target
#   pergola_compile_together(TARGET): files of a folder are compiled as one where they can be (cmake/together.py). Those with options of their own or with
#                                     SKIP_PRECOMPILE_HEADERS are compiled alone.
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

# The first warns of what included files keep for themselves. The others hang on what is inlined, g++ 12 sees some that are not there, and which files are
# together may change: they are errors where a file is compiled alone.
set(PERGOLA_TOGETHER_FLAGS -Wno-subobject-linkage)
foreach(warning maybe-uninitialized array-bounds stringop-overflow stringop-overread restrict nonnull free-nonheap-object dangling-pointer use-after-free)
  list(APPEND PERGOLA_TOGETHER_FLAGS -Wno-error=${warning})
endforeach()
find_program(PERGOLA_BUILD_PYTHON python3)
function(pergola_compile_together target)
  if(CMAKE_CXX_COMPILER_LAUNCHER OR NOT PERGOLA_BUILD_PYTHON)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(alike)
  foreach(source IN LISTS sources)
    get_source_file_property(alone ${source} SKIP_PRECOMPILE_HEADERS)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(includes ${source} INCLUDE_DIRECTORIES)
    if(NOT alone AND NOT options AND NOT includes AND IS_ABSOLUTE ${source})
      list(APPEND alike ${source})
    endif()
  endforeach()
  pergola_find_together(groups "\\.cpp$" ${alike})
  foreach(group IN LISTS groups)
    string(REPLACE "|" ";" group "${group}")
    list(POP_FRONT group name)
    set_source_files_properties(${group} PROPERTIES UNITY_GROUP ${name})
  endforeach()
  # Which names a file keeps for itself may change with it.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${alike} ${PROJECT_SOURCE_DIR}/cmake/together.py)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${PERGOLA_TOGETHER_FLAGS}>")
  if(NOT PERGOLA_CUDA_QUICK)
    return()
  endif()
  pergola_find_together(groups "\\.cu$" ${alike})
  foreach(group IN LISTS groups)  # CMake 3.25 does this for C++ only
    string(REPLACE "|" ";" group "${group}")
    list(POP_FRONT group name)
    set_source_files_properties(${group} PROPERTIES HEADER_FILE_ONLY ON)
    list(TRANSFORM group REPLACE "(.+)" "#include \"\\1\"")
    list(JOIN group "\n" text)
    file(CONFIGURE OUTPUT ${target}_${name}.cu @ONLY CONTENT "@text@\n")
    target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${target}_${name}.cu)
  endforeach()
endfunction()
# Groups of the files whose names match: "NAME|FILE|FILE…" each.
function(pergola_find_together result pattern)
  list(FILTER ARGN INCLUDE REGEX "${pattern}")
  set(groups)
  if(ARGN)
    execute_process(COMMAND ${PERGOLA_BUILD_PYTHON} -B ${PROJECT_SOURCE_DIR}/cmake/together.py ${ARGN} OUTPUT_VARIABLE groups
                            OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    string(REPLACE ";" "|" groups "${groups}")
    string(REPLACE "\n" ";" groups "${groups}")
  endif()
  set(${result} "${groups}" PARENT_SCOPE)
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
  # Checks of memory are calls in place of code at every access: a fifth of the build less. The address sanitizer finds null references all the same; in files
  # of vectors instructions fault where those are not aligned.
  set(PERGOLA_SANITIZE_LOOPS)
  if(PERGOLA_SANITIZE MATCHES "address")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=asan-instrumentation-with-call-threshold=0> $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,vptr>)
    list(APPEND PERGOLA_SANITIZE_LOOPS -fno-sanitize=alignment)
  endif()
endif()
