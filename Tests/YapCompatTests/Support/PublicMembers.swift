// The public members of a module, as its sources declare them.

import Foundation

/// A public member with its comment.
struct PublicMember: Equatable {
  /// The type around it; empty for globals.
  let owner: String
  /// The name with its labels, such as `setObject(_:forKey:inCollection:)`.
  let selector: String
  /// Its documentation comment in one line.
  let comment: String
  let isCallable: Bool
}

/// Reads declarations line by line: enough for sources that the formatter has gone over.
struct PublicMemberReader {
  private(set) var members: [PublicMember] = []
  private var owner = ""
  private var comment: [String] = []

  init(_ text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    for (index, line) in lines.enumerated() { read(line, lines[index...].prefix(14).joined(separator: "\n")) }
  }

  private static let heads = ["class", "struct", "enum", "extension", "protocol"]
  private static let modifiers: Set<String> = [
    "public", "static", "final", "override", "convenience", "@discardableResult", "weak", "nonisolated", "private(set)",
  ]

  private mutating func read(_ line: String, _ following: String) {
    let trimmed = line.trimmingCharacters(in: .whitespaces)
    if trimmed.hasPrefix("///") {
      comment.append(trimmed.dropFirst(3).trimmingCharacters(in: .whitespaces))
      return
    }
    // Attributes may stand between a comment and its declaration, over several lines.
    if trimmed.hasPrefix("@available") || trimmed.hasPrefix("*, deprecated") || trimmed.hasPrefix("message:") { return }
    if ["@discardableResult", "@preconcurrency", ")"].contains(trimmed) { return }
    defer { comment = [] }
    let all = trimmed.split(separator: " ").map(String.init)
    // Attributes without arguments may stand in the declaration's own line.
    let words = Array(all.drop { $0.hasPrefix("@") })
    guard let keyword = words.first(where: { !Self.modifiers.contains($0) }) else { return }
    if !line.hasPrefix(" "), Self.heads.contains(keyword), let place = words.firstIndex(of: keyword) {
      owner = String(words[place + 1].prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." })
      return
    }
    guard words.first == "public", let place = words.firstIndex(of: keyword) else { return }
    add(keyword, Array(words[(place + 1)...]), isStatic: words.contains("static"), following)
  }

  private mutating func add(_ keyword: String, _ rest: [String], isStatic: Bool, _ following: String) {
    switch keyword {
    case "func":
      guard let head = following.range(of: "func ") else { return }
      append(following[head.upperBound...], nil)
    case let word where word.hasPrefix("init"): append(following[...], "init")
    // The options of option sets are explained beside their type.
    case "var", "let":
      guard keyword == "var" || !isStatic, let name = rest.first else { return }
      let bare = name.filter { $0.isLetter || $0.isNumber || $0 == "_" }
      members.append(
        PublicMember(owner: owner, selector: bare, comment: comment.joined(separator: " "), isCallable: false))
    default: break
    }
  }

  /// Adds a call: its name and the labels of its parameters.
  private mutating func append(_ text: Substring, _ fixedName: String?) {
    guard let opening = text.firstIndex(of: "(") else { return }
    let name = fixedName ?? String(text[..<opening].prefix { $0.isLetter || $0.isNumber || "_`".contains($0) })
    guard name.contains(where: \.isLetter) else { return }
    var (depth, label, labels, isLabel) = (0, "", "", true)
    // Of an arrow the sign must not close a bracket.
    for character in text[opening...].replacingOccurrences(of: "->", with: "  ") {
      if "([{<".contains(character) { depth += 1 }
      if ")]}>".contains(character) { depth -= 1 }
      if depth == 0 { break }
      switch character {
      case ":" where depth == 1 && isLabel:
        labels += (label.split(separator: " ").first.map(String.init) ?? "") + ":"
        isLabel = false
      case "," where depth == 1: (label, isLabel) = ("", true)
      case "(" where depth == 1: break
      default: if isLabel { label.append(character.isNewline ? " " : character) }
      }
    }
    // The place in the code is never written in a call.
    labels = labels.replacingOccurrences(of: "fileID:line:", with: "")
    members.append(
      PublicMember(
        owner: owner, selector: "\(name.filter { $0 != "`" })(\(labels))", comment: comment.joined(separator: " "),
        isCallable: true))
  }
}
