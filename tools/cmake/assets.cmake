# gs_assets: the files of assets/, the packages' fonts and the rendered icon, inside the program (base/assets.h). The assembler
# reads the files (.incbin); a changed file is built in anew.
file(GLOB_RECURSE paths RELATIVE ${PROJECT_SOURCE_DIR}/assets CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/assets/*)
list(FILTER paths EXCLUDE REGEX "^(desktop|icon|pytorch|serve)/")  # for the system; only installed
set(files ${paths})
list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/assets/)

if(GAUSSCOPE_STUDIO)
  # Text looks the same on every machine: the fonts are built in, not looked for.
  foreach(font roboto/unhinted/RobotoTTF/Roboto-Regular.ttf roboto/unhinted/RobotoTTF/Roboto-Medium.ttf dejavu/DejaVuSansMono.ttf)
    get_filename_component(name ${font} NAME)
    string(MAKE_C_IDENTIFIER "FONT_${name}" found)
    find_file(${found} ${font} PATHS /usr/share/fonts/truetype /usr/local/share/fonts/truetype NO_DEFAULT_PATH)
    if(NOT ${found})
      message(FATAL_ERROR "the font ${name} is missing (packages fonts-roboto-unhinted, fonts-dejavu-core; see tools/install_packages)")
    endif()
    list(APPEND paths fonts/${name})
    list(APPEND files ${${found}})
  endforeach()

  find_program(RSVG_CONVERT rsvg-convert)
  if(NOT RSVG_CONVERT)
    message(FATAL_ERROR "rsvg-convert (package librsvg2-bin) renders the icon; see tools/install_packages")
  endif()
  foreach(size 48 128)
    set(icon ${CMAKE_BINARY_DIR}/icon/${size}/gausscope.png)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/icon/${size})
    add_custom_command(OUTPUT ${icon} DEPENDS ${PROJECT_SOURCE_DIR}/assets/icon/gausscope.svg VERBATIM
      COMMAND ${RSVG_CONVERT} -w ${size} -h ${size} ${PROJECT_SOURCE_DIR}/assets/icon/gausscope.svg -o ${icon})
    list(APPEND paths icon/gausscope-${size}.png)
    list(APPEND files ${icon})
  endforeach()
endif()

set(symbols "")
set(rows "")
set(sections "")
set(index 0)
foreach(path file IN ZIP_LISTS paths files)
  string(APPEND symbols "extern \"C\" const char gs_asset_${index}[], gs_asset_${index}_end[];\n")
  string(APPEND rows "    {\"${path}\", gs_asset_${index}, gs_asset_${index}_end},\n")
  string(APPEND sections "    \".globl gs_asset_${index}\\n.globl gs_asset_${index}_end\\n.balign 16\\ngs_asset_${index}:\\n\"\n"
    "    \".incbin \\\"${file}\\\"\\ngs_asset_${index}_end:\\n.byte 0\\n\"\n")
  math(EXPR index "${index} + 1")
endforeach()
set(source ${CMAKE_BINARY_DIR}/assets.cpp)
file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[// Written by tools/cmake/assets.cmake.
#include "base/embedded.h"

asm(".section .rodata\n"
@sections@    ".text\n");
@symbols@
namespace gs {
std::span<const EmbeddedFile> embedded_files() {
    static const EmbeddedFile kFiles[] = {
@rows@    };
    return kFiles;
}
}  // namespace gs
]])
add_library(gs_assets STATIC ${source})
target_link_libraries(gs_assets PRIVATE gs_options)
# Compiled by itself: what is made of several files does not know on what one of them depends.
set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${files}" SKIP_UNITY_BUILD_INCLUSION ON)
