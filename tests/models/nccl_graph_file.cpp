// NCCL_GRAPH_FILE: prescribed graphs take the place of the search, broken files are located.
#include <cstdio>
#include <filesystem>

#include "nccl_support.hpp"

using namespace nccl_test;

namespace {
/// A file for the time of a test.
class Written {
 public:
  explicit Written(const std::string& text)
      : path_{(std::filesystem::temp_directory_path() / "graph-under-test.xml").string()} {
    std::ofstream{path_} << text;
  }
  ~Written() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Communicator with_graphs(const std::string& text, int nodes = 1) {
  const Written file{text};
  return communicator(oracle_system("h100_4gpu"), "2.30.7", nodes, {{"NCCL_GRAPH_FILE", file.path().c_str()}});
}

std::string ring(const std::string& channels, const std::string& rest = "") {
  return "<graphs version=\"1\">\n"
         "  <graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"2\" speedintra=\"18\" speedinter=\"18\" "
         "latencyinter=\"0\" typeintra=\"NVL\" typeinter=\"PIX\" samechannels=\"0\">\n" +
         channels + "  </graph>\n" + rest + "</graphs>\n";
}

const char* const two =
    "    <channel><net dev=\"1\"/><gpu dev=\"2\" rank=\"2\"/><gpu dev=\"0\" rank=\"0\"/><gpu dev=\"3\" rank=\"3\"/>"
    "<gpu dev=\"1\" rank=\"1\"/><net dev=\"1\"/></channel>\n"
    "    <channel><net dev=\"2\"/><gpu dev=\"1\"/><gpu dev=\"3\"/><gpu dev=\"0\"/><gpu dev=\"2\"/><net "
    "dev=\"2\"/></channel>\n";

std::string error_of(const std::string& text) {
  try {
    with_graphs(text);
  } catch (const sim::InputError& e) {
    return e.what();
  }
  return "no error";
}
}  // namespace

TEST_CASE("Prescribed rings are taken as they are; the rest is searched for", "[nccl][graphs]") {
  const auto c = with_graphs(ring(two), 2);
  CHECK(c.graphs().at("RING").channels == 2);
  CHECK(c.graphs().at("RING").bw_inter == 18);
  CHECK(c.ring(0) == std::vector<int>{2, 0, 3, 1, 6, 4, 7, 5});
  CHECK(c.ring(1) == std::vector<int>{1, 3, 0, 2, 5, 7, 4, 6});
  CHECK(c.ring_net(0, 0).send_net == 1);
  CHECK(c.ring_net(1, 0).recv_net == 2);
  CHECK(c.graphs().count("TREE") == 1);
  CHECK(c.channels().search == 2);
}

TEST_CASE("A graph file that is wrong is told where", "[nccl][graphs][errors]") {
  CHECK(error_of("").find("cannot be read") != std::string::npos);
  CHECK(error_of("<system/>").find("no <graphs> element") != std::string::npos);
  CHECK(error_of("<graphs>\n <graph").find("graph-under-test.xml:2:") != std::string::npos);
  const auto once = ring(std::string{two}.substr(0, std::string{two}.find('\n') + 1));
  CHECK(error_of(once).find("graph-under-test.xml:2:4: error: nchannels is 2, but there are 1 channels") !=
        std::string::npos);
  auto again = std::string{two};
  again.replace(again.find("rank=\"0\""), 8, "rank=\"2\"");
  CHECK(error_of(ring(again)).find("a GPU that this channel has passed already") != std::string::npos);
  auto far = std::string{two};
  far.replace(far.find("<net dev=\"1\"/>"), 14, "<net dev=\"c\"/>");
  CHECK(error_of(ring(far)).find("no network port has the number 12") != std::string::npos);
  auto level = ring(two);
  level.replace(level.find("\"NVL\""), 5, "\"NVLINK\"");
  CHECK(error_of(level).find("'typeintra' is \"NVLINK\"") != std::string::npos);
  auto shape = ring(two);
  shape.replace(shape.find("pattern=\"4\""), 11, "pattern=\"5\"");
  CHECK(error_of(shape).find("graph 0 cannot have pattern 5") != std::string::npos);
  CHECK_THROWS_WITH(communicator(oracle_system("h100_4gpu"), "2.30.7", 1, {{"NCCL_GRAPH_FILE", "/nowhere"}}),
                    holds("NCCL_GRAPH_FILE=/nowhere cannot be read"));
}
