# Writes the commit of the sources into a header, at every build:
#   cmake -DSOURCE=DIR -DHEADER=FILE -P program_commit.cmake
# "0123456789ab": the sources are those of that commit. "0123456789ab+changes.01234567": files differ from it, and
# 01234567 is a hash of the differences. "unknown": no git, no repository of its own (a source archive, also one unpacked
# inside another repository), or git refuses it (another user's folder). It never fails. The header is written only
# where its text changes, so a build without changes compiles nothing.
cmake_minimum_required(VERSION 3.25)

# Inside a git hook these name another repository.
foreach(name GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX)
  unset(ENV{${name}})
endforeach()
find_program(GIT git)

# ask(OUT WORDS...): what git says; empty where it fails.
function(ask out)
  set(said "")
  if(GIT)
    execute_process(COMMAND ${GIT} --no-optional-locks -C ${SOURCE} ${ARGN} OUTPUT_VARIABLE said RESULT_VARIABLE code
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT code EQUAL 0)
      set(said "")
    endif()
  endif()
  set(${out} "${said}" PARENT_SCOPE)
endfunction()

# Hash of what differs from HEAD: tracked files, and new sources, which the build takes up by their names. Empty: nothing
# does; "unreadable": git cannot say.
function(hash_of_changes out)
  set(differences "${HEADER}.diff")
  execute_process(COMMAND ${GIT} --no-optional-locks -C ${SOURCE} diff --no-ext-diff --no-textconv --no-color --binary
    --full-index HEAD OUTPUT_FILE ${differences} RESULT_VARIABLE code ERROR_QUIET)
  if(NOT code EQUAL 0)
    file(REMOVE ${differences})
    set(${out} "unreadable" PARENT_SCOPE)
    return()
  endif()
  file(SIZE ${differences} size)
  file(SHA256 ${differences} hashes)
  file(REMOVE ${differences})
  ask(new -c core.quotePath=false ls-files --others --exclude-standard -- "*.cpp" "*.h" "*.cu" "*.cuh" "*.c" "*.cmake"
    "*CMakeLists.txt" "assets/*")
  if(size EQUAL 0 AND new STREQUAL "")
    set(${out} "" PARENT_SCOPE)
    return()
  endif()
  string(REPLACE ";" "\\;" new "${new}")
  string(REPLACE "\n" ";" new "${new}")
  foreach(file IN LISTS new)
    string(APPEND hashes " ${file}")
    if(EXISTS "${SOURCE}/${file}" AND NOT IS_DIRECTORY "${SOURCE}/${file}")
      file(SHA256 "${SOURCE}/${file}" hash)
      string(APPEND hashes " ${hash}")
    endif()
  endforeach()
  string(SHA256 hash "${hashes}")
  string(SUBSTRING ${hash} 0 8 hash)
  set(${out} ${hash} PARENT_SCOPE)
endfunction()

set(commit unknown)
ask(head rev-parse --verify HEAD)
ask(top rev-parse --show-toplevel)
get_filename_component(top "${top}" REALPATH)
get_filename_component(source "${SOURCE}" REALPATH)
if(head MATCHES "^[0-9a-f]+$" AND top STREQUAL source)
  string(SUBSTRING ${head} 0 12 commit)
  hash_of_changes(changes)
  if(changes)
    set(commit "${commit}+changes.${changes}")
  endif()
endif()

set(text "// Written by tools/cmake/program_commit.cmake at every build.\n#define GAUSSCOPE_COMMIT \"${commit}\"\n")
set(old "")
if(EXISTS ${HEADER})
  file(READ ${HEADER} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${HEADER} "${text}")
endif()
