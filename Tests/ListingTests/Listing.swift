// Finding listings in guides and in the comments that document code.

import Foundation

/// A piece of Swift that a document shows.
struct Listing {
  /// The document, from the top of the repository.
  var document: String
  /// The number of its first line there, from 1.
  var line: Int
  var lines: [String]

  /// What the package manager reads: entries of a manifest's dependencies.
  var isManifest: Bool { lines.first.map(Self.isManifestEntry) ?? false }

  static func isManifestEntry(_ line: String) -> Bool { line.hasPrefix(".package(") || line.hasPrefix(".product(") }
}

/// The listings of a document, and what is wrong with the way in which it shows them.
struct ListingReader {
  private(set) var listings: [Listing] = []
  private(set) var faults: [String] = []
  private let document: String
  /// The block that is being read: its first line, and the indentation of its fence.
  private var block: (line: Int, indentation: Int, isSwift: Bool)?
  private var lines: [String] = []

  /// Reads a guide, or, of a Swift file, the comments with three slashes.
  init(_ text: String, document: String) {
    self.document = document
    var number = 0
    for line in text.components(separatedBy: "\n") {
      number += 1
      if document.hasSuffix(".md") {
        read(line, number)
      } else {
        let code = line.trimmingCharacters(in: .whitespaces)
        if code.hasPrefix("///") {
          let rest = code.dropFirst(3)
          read(String(rest.hasPrefix(" ") ? rest.dropFirst() : rest), number)
        } else {
          end(number)
          if code.hasPrefix("//"), code.contains("```swift") { fault(number, "a listing needs three slashes") }
          if code.hasPrefix("/**") { fault(number, "comments that document code begin with three slashes") }
        }
      }
    }
    end(number)
  }

  private mutating func fault(_ line: Int, _ text: String) { faults.append("\(document):\(line): \(text)") }

  /// A block that no fence has ended.
  private mutating func end(_ number: Int) {
    if block != nil { fault(number, "a listing without an end") }
    block = nil
  }

  private mutating func read(_ line: String, _ number: Int) {
    let text = line.trimmingCharacters(in: .whitespaces)
    let indentation = line.prefix { $0 == " " }.count
    guard let block else {
      if text.hasPrefix("~~~") || text.hasPrefix("````") { fault(number, "listings stand between three backticks") }
      if text.hasPrefix("```") {
        let language = text.dropFirst(3)
        if !["", "swift", "text"].contains(language) { fault(number, "no listing is of the language “\(language)”") }
        self.block = (number + 1, indentation, language == "swift")
        lines = []
      } else if indentation >= 4, Self.looksLikeSwift(text) {
        fault(number, "code stands between three backticks: \(text)")
      }
      return
    }
    if text.hasPrefix("```") {
      if block.isSwift {
        if lines.isEmpty { fault(number, "a listing of nothing") }
        listings.append(Listing(document: document, line: block.line, lines: lines))
      }
      self.block = nil
    } else if block.isSwift {
      lines.append(String(line.dropFirst(min(indentation, block.indentation))))
    } else if Self.looksLikeSwift(text) {
      fault(number, "Swift in a block that does not say so: \(text)")
    }
  }

  /// Whether a line, without what surrounds it, is Swift rather than a command, a table or prose.
  static func looksLikeSwift(_ line: String) -> Bool {
    func begins(_ words: String...) -> Bool { words.contains { line.hasPrefix($0) } }
    if begins("@") || Listing.isManifestEntry(line) || line.contains("try ") || line.contains(" in try") { return true }
    if begins("let ", "var ") { return line.contains("=") || line.contains(":") }
    if begins("func ", "init(") { return line.contains("(") }
    if begins("import ") { return line.split(separator: " ").count == 2 }
    if begins("///", "public ", "private ", "final ", "static ", "mutating ", "package ", "internal ") { return true }
    if begins("struct ", "class ", "enum ", "actor ", "extension ", "for ", "if ", "guard ", "do ", "while ") {
      return line.contains("{")
    }
    return line.hasSuffix(" in") && line.contains("{")
  }
}

/// The files whose code the listings must be.
struct CompiledCode {
  /// A file's lines.
  struct File {
    var name: String
    var lines: [String]
  }

  private let files: [File]

  init(_ files: [File]) {
    self.files = files.map { file in
      // Documents name the path of a database; code that runs is told one.
      let lines = file.lines.map { line in
        ["Database(at: ", "StorageEngine(at: "].reduce(line) { line, call in
          line.replacingOccurrences(of: call + "path", with: call + "\"library.quire\"")
        }
      }
      return File(name: file.name, lines: lines)
    }
  }

  /// Whether a listing stands in one of the files, line after line. Declarations that it begins with, up to an empty
  /// line each, may stand apart from the rest, but in its order and its file: they cannot stand in the same function.
  func contains(_ listing: Listing) -> Bool {
    files.contains { Self.find(listing.lines[...], in: $0.lines[...]) }
  }

  private static func find(_ listing: ArraySlice<String>, in code: ArraySlice<String>) -> Bool {
    if rest(of: code, after: listing) != nil { return true }
    guard let first = listing.first, isDeclaration(first), let gap = listing.firstIndex(of: ""),
      let rest = rest(of: code, after: listing[..<gap])
    else { return false }
    return find(listing[(gap + 1)...], in: rest)
  }

  private static func isDeclaration(_ line: String) -> Bool {
    ["import ", "struct ", "enum ", "final class ", "extension "].contains { line.hasPrefix($0) }
  }

  /// What follows the first place where the lines stand one after the other, all indented by as much more.
  private static func rest(of code: ArraySlice<String>, after lines: ArraySlice<String>) -> ArraySlice<String>? {
    guard let first = lines.first, !first.isEmpty, code.count >= lines.count else { return nil }
    for start in code.startIndex...(code.endIndex - lines.count) where code[start].hasSuffix(first) {
      let indentation = code[start].dropLast(first.count)
      guard indentation.allSatisfy({ $0 == " " }) else { continue }
      let isHere = zip(lines, code[start...]).allSatisfy { line, code in
        line.isEmpty ? code.isEmpty : code.hasPrefix(indentation) && code.dropFirst(indentation.count) == line
      }
      if isHere { return code[(start + lines.count)...] }
    }
    return nil
  }
}
