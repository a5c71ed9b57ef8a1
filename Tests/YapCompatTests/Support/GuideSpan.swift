// Names in the tables of a guide, held against what the sources declare.

import Foundation

/// Finds out whether what stands in backquotes is there.
struct GuideSpan {
  let symbols: PublicSymbols
  /// All of them, whatever type they belong to.
  private let all: [PublicSymbol]
  /// What the guides call values of some types by.
  static let values = [
    "tx[…]": ["ReadableRows", "WritableRows"], "tx": ["ReadTransaction", "WriteTransaction"],
    "graph": ["ReadableGraph", "WritableGraph"],
  ]
  /// Of the language and its library.
  static let words: Set<String> = ["await", "init", "Codable", "Sendable"]

  init(symbols: PublicSymbols) {
    self.symbols = symbols
    all = symbols.all
  }

  /// Whether there is such a symbol: `Type`, `Type.member`, `Type(label:)`, a member of any type, a label of any
  /// initializer with a colon behind it, or with `…` the beginning or the end of a name.
  ///
  /// - Parameter owner: the type whose member it is, if that is known.
  func isThere(_ span: String, of owner: String? = nil) -> Bool {
    if Self.words.contains(span) { return true }
    if span.hasSuffix("…") { return all.contains { $0.name.hasPrefix(span.dropLast()) } }
    if span.hasPrefix("…") { return all.contains { $0.selector.contains(span.dropFirst()) } }
    if span.hasSuffix(":"), !span.contains("(") {
      let calls = owner.map { symbols.members(of: $0) } ?? all
      return calls.contains { $0.name == "init" && $0.labels?.contains(String(span.dropLast())) == true }
    }
    if let owner { return has(symbols.members(of: owner), span) }
    var parts = Self.parts(span)
    guard parts.count > 1 else {
      if let bracket = span.firstIndex(of: "("), symbols.types.contains(String(span[..<bracket])) {
        return has(symbols.members(of: String(span[..<bracket])), "init" + span[bracket...])
      }
      return symbols.types.contains(span) || has(all, span)
    }
    // `.object` is a member of whatever type is asked for.
    if parts[0].isEmpty { return has(all, parts[1]) }
    let last = parts.removeLast()
    return owners(parts).contains { owner in
      let inner = last.firstIndex(of: "(").map { (type: "\(owner).\(last[..<$0])", call: "init" + last[$0...]) }
      if let inner, symbols.types.contains(inner.type) { return has(symbols.members(of: inner.type), inner.call) }
      return symbols.types.contains("\(owner).\(last)") || has(symbols.members(of: owner), last)
    }
  }

  /// The types that a path leads to, by nested types and by the types of properties.
  private func owners(_ path: [String]) -> [String] {
    guard let first = path.first else { return [] }
    let start = Self.values[first] ?? [first]
    return path.dropFirst().reduce(start) { owners, name in
      owners.flatMap { owner in
        if symbols.types.contains("\(owner).\(name)") { return ["\(owner).\(name)"] }
        let types = symbols.members(of: owner).filter { $0.name == name && $0.labels == nil }.compactMap(\.type)
        return types.map { symbols.types.contains("\(owner).\($0)") ? "\(owner).\($0)" : $0 }
      }
    }
  }

  /// Whether one is called so: with its labels if there are brackets, and by the name alone otherwise.
  private func has(_ members: [PublicSymbol], _ text: String) -> Bool {
    let isCall = text.contains("(")
    return members.contains { isCall ? $0.isCalled(text) : $0.name == text }
  }

  /// Takes a path apart where a point stands outside of brackets.
  static func parts(_ span: String) -> [String] {
    var (parts, depth) = ([""], 0)
    for character in span {
      if "([".contains(character) { depth += 1 }
      if ")]".contains(character) { depth -= 1 }
      if character == ".", depth == 0 { parts.append("") } else { parts[parts.count - 1].append(character) }
    }
    return parts
  }
}

/// A name in a cell of a guide's table.
struct GuideName {
  let text: String
  /// The type whose member it is: of `a` in “`a` of the `B`”, `B`.
  let owner: String?
  let line: Int
}

/// The names in the columns of a guide's tables that speak of this library.
struct GuideTables {
  private(set) var names: [GuideName] = []

  /// - Parameter columns: the heads of the columns that are read.
  init(_ text: String, columns: Set<String>) {
    var (heads, owner) = ([String](), String?.none)
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      guard line.hasPrefix("| ") else {
        if !line.isEmpty {
          heads = []
          let isName = line.hasPrefix("`") && line.hasSuffix("`") && !line.dropFirst().dropLast().contains("`")
          owner = isName ? String(line.dropFirst().dropLast()) : nil
        } else if !heads.isEmpty {
          (heads, owner) = ([], nil)
        }
        continue
      }
      let cells = line.dropFirst().dropLast().split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      if heads.isEmpty {
        heads = cells
      } else if !line.hasPrefix("| ---") {
        for (head, cell) in zip(heads, cells) where columns.contains(head) {
          // What the table is about owns the names in the old spelling.
          read(cell, head == "YapCompat" ? owner : nil, index + 1)
        }
      }
    }
  }

  private mutating func read(_ cell: String, _ owner: String?, _ line: Int) {
    let pieces = cell.components(separatedBy: "`")
    for index in stride(from: 1, to: pieces.count, by: 2) {
      let joins = [" of a ", " of an ", " of the ", " of "]
      let next = index + 2 < pieces.count && joins.contains(pieces[index + 1]) ? pieces[index + 2] : nil
      names.append(GuideName(text: pieces[index], owner: next ?? owner, line: line))
    }
  }
}
