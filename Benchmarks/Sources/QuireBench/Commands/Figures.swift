// Keeping documents and results in step.

internal import ArgumentParser
internal import Foundation

/// Puts figures of results into documents, or finds out whether they are there.
struct Figures: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "figures", abstract: "Brings the figures in documents into step with the results.")

  @Argument(help: "Documents.")
  var documents = ["README.md", "Benchmarks/README.md"]
  @Option(help: "The folder of the results.")
  var results = "Benchmarks/results"
  @Flag(help: "Changes nothing, and fails where a document says something else.")
  var check = false

  func run() throws {
    var differences: [String] = []
    for path in documents {
      let document = FigureDocument(name: path, text: try String(contentsOfFile: path, encoding: .utf8))
      let updated = try document.updated { name in
        ResultTables(try String(contentsOfFile: "\(results)/\(name)", encoding: .utf8))
      }
      differences += document.differences(from: updated)
      if !check, updated != document.text { try updated.write(toFile: path, atomically: true, encoding: .utf8) }
    }
    for difference in differences { print(difference) }
    if check, !differences.isEmpty {
      print("Documents and results differ: quire-bench figures brings them into step.")
      throw ExitCode.failure
    }
  }
}

/// Finds out whether figures get into a document, and whether a wrong one is noticed.
func checkFigures() throws {
  let results = ResultTables(
    """
    Quire of commit 0123abc.

    ### Small

    | row | quire | lmdb |
    |---|--:|--:|
    | `read, twice`, ns | **12.5** (11–14) | 20.0 |

    ### Large

    | row | quire | lmdb |
    |---|--:|--:|
    | `read, twice`, ns | 50.0 | **40.0** |
    """)
  func document(_ figure: String, _ rows: String) -> FigureDocument {
    FigureDocument(
      name: "check",
      text: """
        Of commit 0123abc:

        <!-- figures: results.md | Large | \(rows) -->

        | what | LMDB | Quire |
        |---|--:|--:|
        | a read | \(figure) | 50.0 |

        """)
  }
  let right = document("**40.0**", "read, twice")
  try expect(try right.updated { _ in results } == right.text, "a document that is in step is changed")
  let wrong = document("41.0", "read, twice")
  let updated = try wrong.updated { _ in results }
  try expect(updated == right.text, "a wrong figure stays")
  try expect(wrong.differences(from: updated).count == 1, "a wrong figure is not noticed")
  do {
    _ = try document("41.0", "write").updated { _ in results }
  } catch { return print("figures: in order") }
  throw StoreFailure(description: "a row that the results do not have is not noticed")
}
