# The interface targets that every target of the project links, and the one way to declare a layer.

add_library(twinax_warnings INTERFACE)
target_compile_options(twinax_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wconversion
                                                 -Wno-sign-conversion
                                                 -Wno-missing-field-initializers)  # designated initializers leave the rest at its default
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(twinax_warnings INTERFACE -Wno-restrict)  # GCC 12 sees overlaps in std::string's operator+ that are none
endif()
if(TWINAX_WARNINGS_AS_ERRORS)
  target_compile_options(twinax_warnings INTERFACE -Werror)
endif()

add_library(twinax_sanitize INTERFACE)
if(TWINAX_SANITIZE)
  target_compile_options(twinax_sanitize INTERFACE -fsanitize=${TWINAX_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(twinax_sanitize INTERFACE -fsanitize=${TWINAX_SANITIZE})
endif()

add_library(twinax_machine INTERFACE)
if(TWINAX_MARCH)
  target_compile_options(twinax_machine INTERFACE -march=${TWINAX_MARCH})
endif()

# twinax_layer(NAME SOURCES file.cpp ... [LINK target ...] [PRIVATE_LINK target ...])
# A layer is one library, twinax::NAME; LINK holds the layers it may include, as tests/structure/layers.txt says.
function(twinax_layer name)
  cmake_parse_arguments(layer "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  if(layer_SOURCES)
    add_library(twinax_${name} STATIC ${layer_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(twinax_${name} PRIVATE $<BUILD_INTERFACE:twinax_warnings> $<BUILD_INTERFACE:twinax_sanitize>
                                                 $<BUILD_INTERFACE:twinax_machine> ${layer_PRIVATE_LINK})
    target_include_directories(twinax_${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  else()
    add_library(twinax_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(twinax::${name} ALIAS twinax_${name})
  set_target_properties(twinax_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(twinax_${name} ${scope} $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_compile_features(twinax_${name} ${scope} cxx_std_20)
  target_link_libraries(twinax_${name} ${scope} ${layer_LINK})
endfunction()
