// command_pages FOLDER VERSION: writes man1/isthmus*.1, isthmus.bash, _isthmus (zsh) and isthmus.fish.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/command_table.h"
#include "writers.h"

namespace {

bool write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  return static_cast<bool>(file.flush());
}

}  // namespace

int main(int argc, char** argv) {
  namespace pages = isthmus::pages;
  if (argc != 3) {
    std::fprintf(stderr, "usage: command_pages FOLDER VERSION\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder / "man1");
  const isthmus::CommandTable table = isthmus::make_command_table();
  const std::vector<pages::CommandText> commands = pages::describe(*table.app);
  bool is_fine = write(folder / "isthmus.bash", pages::bash_completion(commands)) &&
                 write(folder / "_isthmus", pages::zsh_completion(commands)) &&
                 write(folder / "isthmus.fish", pages::fish_completion(commands));
  for (const pages::CommandText& command : commands) {
    const std::string name = command.name.empty() ? "isthmus.1" : "isthmus-" + command.name + ".1";
    is_fine = is_fine && write(folder / "man1" / name, pages::manual(commands, command, argv[2]));
  }
  if (!is_fine) std::fprintf(stderr, "command_pages: cannot write to %s\n", argv[1]);
  return is_fine ? 0 : 1;
}
