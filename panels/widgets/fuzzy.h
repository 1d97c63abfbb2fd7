// Fuzzy matching for the command palette: letters of the query in order, preferring starts of words
// and runs of letters. Called by the palette and filters of lists; free of ImGui.
#pragma once

#include <string_view>

namespace gs {

/// How well `query` fits `text`, larger is better, -1: not at all. Letters compare without case
/// (ASCII); blanks in the query are skipped; an empty query fits everything with 0.
int fuzzy_score(std::string_view query, std::string_view text);

/// True when `needle` occurs in `text`, without case (ASCII).
bool contains_text(std::string_view text, std::string_view needle);

}  // namespace gs
