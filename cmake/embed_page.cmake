# Writes ${out}: the sources of a report's page as strings of C++.
# cmake -Dout=... -Dtemplate=... -Dstyle=... -Dscripts=a;b -Dlibrary=... -Dlicence=... -P embed_page.cmake

set(delimiter "isthmus_page")
set(text "// Made by cmake/embed_page.cmake.\n#include \"report/page/parts.h\"\n\nnamespace isthmus::page {\n")

function(embed name content)
  string(FIND "${content}" ")${delimiter}\"" ends)
  if(NOT ends EQUAL -1)
    message(FATAL_ERROR "${name}: it has the delimiter of raw strings in it")
  endif()
  string(APPEND text "\nconst std::string_view ${name} = R\"${delimiter}(${content})${delimiter}\";\n")
  set(text "${text}" PARENT_SCOPE)
endfunction()

# What goes into a script element must not end it.
function(demand_script file content)
  string(TOLOWER "${content}" lower)
  if(lower MATCHES "</script|<!--")
    message(FATAL_ERROR "${file}: a page cannot embed a script with \"${CMAKE_MATCH_0}\" in it")
  endif()
endfunction()

file(READ "${template}" content)
embed(kTemplate "${content}")
file(READ "${style}" content)
embed(kStyle "${content}")
file(READ "${licence}" content)
embed(kDagreLicence "${content}")
file(READ "${library}" content)
demand_script("${library}" "${content}")
embed(kDagre "${content}")

set(all "\"use strict\";\n(function () {\n")
foreach(script IN LISTS scripts)
  file(READ "${script}" content)
  demand_script("${script}" "${content}")
  string(APPEND all "${content}")
endforeach()
string(APPEND all "})();\n")
embed(kScript "${all}")

file(WRITE "${out}" "${text}\n}  // namespace isthmus::page\n")
