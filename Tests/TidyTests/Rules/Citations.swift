// Rule: what comments cite by number, hazards and goals, stands in the guides, and so do all links between guides.

import Foundation
import Testing

/// The numbers that comments and names of tests cite, and where they must stand.
struct Citations {
  /// The text of each guide, by its name without the extension.
  let guides: [String: String]

  /// The guides of a repository.
  init(_ repository: SourceTree) throws {
    let folder = repository.root.appendingPathComponent("Sources/Quire/Quire.docc")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".md") }
    guides = try Dictionary(
      uniqueKeysWithValues: names.map { name in
        (String(name.dropLast(3)), try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8))
      })
  }

  init(guides: [String: String]) { self.guides = guides }

  /// Hazards and goals that are cited and stand nowhere.
  func violations(in files: [SourceFile]) -> [Violation] {
    let hazards = Set(guides["Hazards", default: ""].matches(of: /(?m)^\*\*([A-Z][0-9]+)\./).map { String($0.1) })
    let goals = Set(guides["Reliability", default: ""].matches(of: /\b(G[0-9]+a?)\b/).map { String($0.1) })
    return files.flatMap { file in
      file.comments.flatMap { comment in
        let cited = Self.numbers(behind: "hazard", in: comment.text).subtracting(hazards).map { "hazard \($0)" }
        let goals = Self.numbers(behind: "goal", in: comment.text).subtracting(goals).map { "goal \($0)" }
        return (cited + goals).sorted().map { Violation(file, comment.line, "\($0) stands in no guide") }
      }
    }
  }

  /// Links from guide to guide that lead nowhere, and guides to which the catalog's first page has no link.
  func brokenLinks() -> [Violation] {
    let known = Set(guides.keys)
    let broken = guides.keys.sorted().flatMap { name in
      guides[name, default: ""].matches(of: /<doc:([A-Za-z]+)>/).map { String($0.1) }.filter { !known.contains($0) }
        .map { Violation(path: "\(name).md", message: "leads to \($0), which is not there") }
    }
    let contents = guides["Quire", default: ""]
    let forgotten = known.subtracting(["Quire"]).sorted().filter {
      // The pages of modules are linked as what they describe.
      !contents.contains("<doc:\($0)>") && !contents.contains("``/\($0)``")
    }
    return broken + forgotten.map { Violation(path: "Quire.md", message: "has no link to \($0)") }
  }

  /// The numbers in “hazard A1” or “hazards A6, C6”.
  private static func numbers(behind word: String, in text: String) -> Set<String> {
    var found: Set<String> = []
    var rest = text[...]
    while let place = rest.range(of: word) {
      rest = rest[place.upperBound...].drop { $0 == "s" }
      for part in rest.split(separator: " ", maxSplits: 8) {
        let number = part.prefix { $0.isLetter || $0.isNumber }
        if number.wholeMatch(of: /[A-Z][0-9]+a?/) != nil {
          found.insert(String(number))
        } else if part != "and" {
          break
        }
      }
    }
    return found
  }
}

@Suite("What is cited is there")
struct CitationTests {
  @Test func repositoryObeys() throws {
    let repository = try SourceTree.repository()
    let citations = try Citations(repository)
    report(citations.violations(in: repository.files) + citations.brokenLinks())
  }

  @Test("Hazards, goals and guides that are not there are found")
  func danglingIsFound() {
    let citations = Citations(guides: [
      "Quire": "<doc:Hazards>",
      "Hazards": "**A1. One.** Text.\n**B2. Two.**",
      "Reliability": "| G1 | x |\n<doc:Nowhere>",
    ])
    let file = sample(
      "Sources/QuireStorage/A.swift",
      """
      // Purpose (hazard A1).
      // Hazards stand in for themselves (hazards A1, B2 and C3); goal G1.
      // Goal, as (goal G7) says.
      """)
    let messages = Set(citations.violations(in: [file]).map(\.message))
    #expect(messages == ["hazard C3 stands in no guide", "goal G7 stands in no guide"])
    #expect(citations.brokenLinks().map(\.path) == ["Reliability.md", "Quire.md"])
  }
}
