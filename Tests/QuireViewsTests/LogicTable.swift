// Cases of view changes in one line each.

import Testing

/// Tables of cases in this notation, one case in a line: its name, then what is done and what must hold after it.
///
/// - `groups=A,B`: the groups, else one without a name; `filter/sort-block groups (all, ascending)`: dynamic ones;
///   `dynamicAll`, `staticAll`, `reversed`, `dep-1` (a neighbour offset), `consolidate<5 as name`;
///   `fixed len20 off0 Beginning`, `flexible len20 off0 End minLength=5 maxLength=10 growBothSides`: windows of all
///   groups.
/// - `n(A=1,B=0)`, `n(3)`: the counts; the second time those after the operations, with `!force` as an update.
/// - `ops[…]`: `+@i` insert, `-@i` remove, `~@i` update, `+key@A:1` of a key in a group, `+×4@22..25` four of them,
///   `-×4@18 each` four at 18, `+§"A"` and `-§"A"` the group comes and goes, `reset§"A"` it is emptied.
/// - `rows{I→s.r, Ds.r, Ms.r→s.r, Us.r{obj+dep}}`, `sections{I1, D0(name)}`, `#row=n`, `#sec=n`: the changes in order;
///   a bare number is a row of any section. `items=n`: rows shown; `idx(r)=i`, `row(i)=r`, `✗` for none;
///   `len`, `offBeginning`, `offEnd`: the window's place; `optLen`, `optOff`: the window read back.
enum LogicTable {
  /// A line of a table.
  struct Case: CustomTestStringConvertible {
    let name: String
    let words: [String]
    var testDescription: String { name }
  }

  /// The lines of a table.
  static func cases(_ table: String) -> [Case] {
    table.split(separator: "\n").compactMap { line in
      guard let colon = line.firstIndex(of: ":") else { return nil }
      return Case(name: String(line[..<colon]), words: words(line[line.index(after: colon)...]))
    }
  }

  /// Parts a text at the spaces outside brackets.
  static func words(_ text: some StringProtocol) -> [String] { parts(text, at: " ") }

  /// Parts a text at a character outside brackets, leaving out empty parts.
  static func parts(_ text: some StringProtocol, at separator: Character) -> [String] {
    var result: [String] = []
    var current = ""
    var depth = 0
    for character in text {
      if "([{".contains(character) { depth += 1 }
      if ")]}".contains(character) { depth -= 1 }
      if character == separator, depth == 0 {
        result.append(current)
        current = ""
      } else {
        current.append(character)
      }
    }
    result.append(current)
    return result.map { $0.trimming() }.filter { !$0.isEmpty }
  }
}

extension StringProtocol {
  /// The text between the first of one character and the last of another; nil without them.
  func between(_ open: Character, _ close: Character) -> String? {
    guard let first = firstIndex(of: open), let last = lastIndex(of: close), first < last else { return nil }
    return String(self[index(after: first)..<last])
  }

  /// The text without spaces around it.
  func trimming() -> String {
    let tail = drop { $0 == " " }
    return String(tail.reversed().drop { $0 == " " }.reversed())
  }

  /// The text after a prefix; nil if it begins otherwise.
  func after(_ prefix: String) -> String? { hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil }
}
