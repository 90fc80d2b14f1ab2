// Text of files in messages and graphs: nothing that a terminal would obey, nothing lost.
#include "base/untrusted_text.h"

#include <gtest/gtest.h>

#include "ir/literals.h"

namespace isthmus::untrusted_text_test {
namespace {

TEST(UntrustedText, Utf8) {
  EXPECT_TRUE(is_utf8("a\n\u00e4\u20ac\U0001F600"));
  EXPECT_TRUE(is_utf8(""));
  for (const char* text : {"\x80", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"}) {
    EXPECT_FALSE(is_utf8(text)) << in_quotes(text);
  }
}

TEST(UntrustedText, QuotesWhatATerminalWouldObey) {
  EXPECT_EQ(in_quotes("conv \u00e4 \u20ac"), "\"conv \u00e4 \u20ac\"");
  EXPECT_EQ(in_quotes("a\"b\\c'"), R"("a\"b\\c'")");
  EXPECT_EQ(in_quotes("it's \"so\"", '\''), R"('it\'s "so"')");
  EXPECT_EQ(in_quotes("\x1b[2J\n\x7f"), R"("\x1b[2J\x0a\x7f")");
  EXPECT_EQ(in_quotes("\u009b2J"), R"("\xc2\x9b2J")");
  EXPECT_EQ(in_quotes("a\u202eb"), R"("a\xe2\x80\xaeb")");
  EXPECT_EQ(in_quotes("\xff\xc3"), R"("\xff\xc3")");
}

TEST(UntrustedText, CanBeReadBack) {
  std::string every;
  for (int c = 0; c < 256; ++c) every += static_cast<char>(c);
  for (const std::string& text : {every, std::string("a\u202e\u009b\\x41\"'"), std::string()}) {
    for (const char quote : {'"', '\''}) {
      const std::string literal = in_quotes(text, quote) + " rest";
      std::string_view rest = literal;
      const auto read = take_quoted(rest);
      ASSERT_TRUE(read) << read.error().text();
      EXPECT_EQ(*read, text);
      EXPECT_EQ(rest, " rest");
    }
  }
}

TEST(UntrustedText, MessagesStayShort) {
  EXPECT_EQ(shown("name"), "\"name\"");
  const std::string text = shown(std::string(1000, 'x'));
  EXPECT_LT(text.size(), 200u);
  EXPECT_NE(text.find("(1000 bytes)"), std::string::npos) << text;
}

TEST(UntrustedText, HarmlessKeepsLines) {
  EXPECT_EQ(harmless("a\nb\t\x1b[0m \"\\ \u00e4\u202e\xff"), "a\nb??[0m \"\\ \u00e4??");
}

}  // namespace
}  // namespace isthmus::untrusted_text_test
