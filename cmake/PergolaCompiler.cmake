# Language level, warnings, and the floating-point rules that bit-identity rests on.
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

# On in the presets of developers and CI (CMakePresets.json): a warning of the next compiler must not stop a user's build.
option(PERGOLA_WERROR "Warnings are errors, for the C++ compiler and nvcc" OFF)
set(PERGOLA_CXX_FLAGS -Wall -Wextra -Wconversion -Wshadow -Wno-sign-conversion -ffp-contract=off)
# Highway's NEON counts the AES instructions in. Where the compiler does not, the constructors that it writes itself cannot call Highway's.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  list(APPEND PERGOLA_CXX_FLAGS -march=armv8-a+crypto)
endif()
# FMT_USE_CONSTEXPR: fmt 9 believes that nvcc has no constexpr and then fails to check its format strings.
set(PERGOLA_CUDA_FLAGS -DFMT_USE_CONSTEXPR=1 --expt-relaxed-constexpr --extended-lambda -Xcompiler=-Wall,-Wextra,-Wshadow,-ffp-contract=off)
if(PERGOLA_WERROR)
  list(APPEND PERGOLA_CXX_FLAGS -Werror)
  list(APPEND PERGOLA_CUDA_FLAGS --Werror=all-warnings -Xcompiler=-Werror)
endif()

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

# A compiler cache is used where it is installed. It compares precompiled headers by their content only if it is told to.
find_program(PERGOLA_CCACHE ccache)
if(PERGOLA_CCACHE AND NOT DEFINED ENV{CCACHE_DISABLE} AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(cached env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${PERGOLA_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${cached})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${cached})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()

# cmake/precompiled.hpp and the headers named here are compiled once for all files of a target.
function(pergola_precompile target)
  set(headers "${PROJECT_SOURCE_DIR}/cmake/precompiled.hpp")
  foreach(header IN LISTS ARGN)
    list(APPEND headers "<${header}$<ANGLE-R>")
  endforeach()
  foreach(header IN LISTS headers)
    target_precompile_headers(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${header}>")
  endforeach()
endfunction()

# The files of a folder are compiled PERGOLA_UNITY_FILES at a time as one source: names in anonymous namespaces are unique in a folder. Files with options of
# their own, and those without precompiled headers, are compiled alone.
set(PERGOLA_UNITY_FILES 16 CACHE STRING "Files of a folder that are compiled as one; 1 compiles each alone")
function(pergola_compile_together target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_source_file_property(alone ${source} SKIP_PRECOMPILE_HEADERS)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(includes ${source} INCLUDE_DIRECTORIES)
    get_source_file_property(apart ${source} SKIP_UNITY_BUILD_INCLUSION)
    if(alone OR apart OR options OR includes OR NOT source MATCHES "^/.*\\.cpp$")
      continue()
    endif()
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${source})
    cmake_path(GET folder PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    if(NOT DEFINED count_${folder})
      set(count_${folder} 0)
    endif()
    math(EXPR number "${count_${folder}} / ${PERGOLA_UNITY_FILES}")
    math(EXPR count_${folder} "${count_${folder}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${number})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # The compiler takes what a file keeps for itself for a header's when the file is included.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  # And clang a name of another file for one that is shadowed. Loops that shall be vectorised have no branches.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-shadow;-Wno-bitwise-instead-of-logical>")
endfunction()

# Sanitizers: little optimisation, line numbers only, and one instruction set instead of three, to keep build and tests short.
set(PERGOLA_SANITIZE "" CACHE STRING "Sanitizers, for example address,undefined")
if(PERGOLA_SANITIZE)
  set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1")
  set(CMAKE_C_FLAGS_SANITIZE "-O1 -g1")
  set(PERGOLA_LOOPS_OPTIMISE -O1)
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
