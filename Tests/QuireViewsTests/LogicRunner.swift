// Carrying out a case of the tables.

import Testing

@testable import QuireViews

/// The state while one case is carried out.
struct LogicRunner {
  private var groups = [""]
  private var isDynamic = false
  private var settings: [(inout ViewMappings) -> Void] = []
  private var window: ViewWindow?
  private var made: ViewMappings?
  private var counts: [(group: String, count: Int)] = []
  private var pending: String?
  private var diff: ViewDiff?
  private var csn: UInt64 = 0

  /// Carries out a case and notes each expectation that does not hold.
  static func run(_ line: LogicTable.Case) throws {
    var runner = LogicRunner()
    var words = line.words[...]
    while let word = words.popFirst() {
      if try !runner.setUp(word, &words), try !runner.act(word) { try runner.check(word, in: line.name) }
    }
  }

  private var mappings: ViewMappings {
    get {
      if let made { return made }
      var fresh = isDynamic ? ViewMappings(view: "v") : ViewMappings(view: "v", groups: groups)
      for setting in settings { setting(&fresh) }
      return fresh
    }
    set { made = newValue }
  }

  // MARK: Settings

  private mutating func setUp(_ word: String, _ rest: inout ArraySlice<String>) throws -> Bool {
    if let list = word.after("groups=") {
      groups = list.split(separator: ",").map(String.init)
    } else if word == "filter/sort-block" {
      rest.removeFirst(2)
      isDynamic = true
      groups = ["group1", "group2", "group3"]
    } else if word == "dynamicAll" || word == "staticAll" {
      settings.append { $0.hidesEmpty.all = word == "dynamicAll" }
    } else if word == "reversed" {
      forEachGroup { $0.isReversed[$1] = true }
    } else if word.hasPrefix("dep"), let offset = word.after("dep").flatMap({ Int($0) }) {
      forEachGroup { $0.neighbourOffsets[$1] = [offset] }
    } else if word.hasPrefix("consolidate<"), let threshold = word.after("consolidate<").flatMap({ Int($0) }) {
      guard rest.popFirst() == "as", let name = rest.popFirst() else { throw LogicError(what: word) }
      settings.append { $0.consolidate(below: threshold, as: name) }
    } else if word == "fixed" || word == "flexible" {
      try readWindow(isFixed: word == "fixed", &rest)
    } else {
      return try limit(word)
    }
    return true
  }

  private mutating func forEachGroup(_ set: @escaping (inout ViewMappings, String) -> Void) {
    let groups = groups
    settings.append { mappings in for group in groups { set(&mappings, group) } }
  }

  private mutating func readWindow(isFixed: Bool, _ rest: inout ArraySlice<String>) throws {
    guard let length = rest.popFirst()?.after("len").flatMap({ Int($0) }),
      let offset = rest.popFirst()?.after("off").flatMap({ Int($0) }), let pin = rest.popFirst()
    else { throw LogicError(what: "window") }
    let edge: ViewWindow.Pin = pin == "End" ? .end : .beginning
    setWindow(isFixed ? .fixed(length, offset: offset, from: edge) : .flexible(length, offset: offset, from: edge))
  }

  private mutating func limit(_ word: String) throws -> Bool {
    guard var window else { return false }
    if let limit = word.after("minLength=").flatMap({ Int($0) }) {
      window.minLength = limit
    } else if let limit = word.after("maxLength=").flatMap({ Int($0) }) {
      window.maxLength = limit
    } else if word == "growBothSides" {
      window.growth = .both
    } else {
      return false
    }
    setWindow(window)
    return true
  }

  private mutating func setWindow(_ window: ViewWindow) {
    self.window = window
    forEachGroup { $0.window[$1] = window }
  }

  // MARK: Counts and operations

  private mutating func act(_ word: String) throws -> Bool {
    if word.hasPrefix("ops[") {
      pending = word.between("[", "]")
    } else if word.hasPrefix("n("), let list = word.between("(", ")") {
      let new = try LogicTable.parts(list, at: ",").map { item in
        let halves = item.split(separator: "=")
        guard let last = halves.last, let count = Int(last) else { throw LogicError(what: word) }
        return (group: halves.count == 2 ? String(halves[0]) : groups[0], count: count)
      }
      try count(new, isForced: word.hasSuffix("!force"))
    } else {
      return word == "⇒"
    }
    return true
  }

  private mutating func count(_ new: [(group: String, count: Int)], isForced: Bool) throws {
    csn += 1
    var mappings = mappings
    if made == nil || isForced {
      mappings.update(counts: new, csn: csn)
    } else {
      let operations = try LogicOperations(pending ?? "", counts: counts, firstGroup: groups[0])
      diff = ViewDiff.make(operations.steps, &mappings, newCounts: new, csn: csn)
      pending = nil
    }
    mappings.checkInvariants()
    made = mappings
    counts = new
  }

  /// Cases that give no counts speak of steps alone: they run in a group of twenty rows.
  private mutating func runWithoutCounts() throws {
    guard made == nil, let pending else { return }
    try count([(groups[0], 20)], isForced: false)
    let after = try LogicOperations(pending, counts: counts, firstGroup: groups[0])
    try count([(groups[0], after.keys[groups[0]]?.count ?? 0)], isForced: false)
  }

  // MARK: Expectations

  private mutating func check(_ word: String, in name: String) throws {
    try runWithoutCounts()
    if word.hasPrefix("rows{"), let list = word.dropFirst(4).between("{", "}") {
      let expected = LogicTable.parts(list, at: ",")
      let told = diff?.rows ?? []
      #expect(told.count == expected.count, "\(name): \(told)")
      for (change, text) in zip(told, expected) { #expect(Self.matches(change, text), "\(name): \(text) in \(told)") }
      #expect(diff?.isReload == false, "\(name)")
      return
    }
    if word.hasPrefix("sections{"), let list = word.between("{", "}") {
      let expected = LogicTable.parts(list, at: ",")
      let told = diff?.sections ?? []
      #expect(told.count == expected.count, "\(name): \(told)")
      for (change, text) in zip(told, expected) {
        #expect(change.description.hasPrefix(text), "\(name): \(text) in \(told)")
      }
      return
    }
    let isNot = word.contains("≠")
    let halves = word.split(separator: isNot ? "≠" : "=", maxSplits: 1).map(String.init)
    guard halves.count == 2 else { throw LogicError(what: word) }
    let value = try value(of: halves[0])
    #expect((value == (halves[1] == "✗" ? "nil" : halves[1])) != isNot, "\(name): \(word), but \(value)")
  }

  private func value(of term: String) throws -> String {
    let argument = term.between("(", ")") ?? groups[0]
    let number = Int(argument) ?? 0
    let position = mappings.windowPosition(of: groups[0])
    let value: Any? =
      switch term.prefix(while: { $0 != "(" }) {
      case "items": mappings.count(in: argument)
      case "#row": diff?.rows.count
      case "#sec": diff?.sections.count
      case "idx": mappings.index(ofRow: number, in: groups[0])
      case "row": mappings.row(of: number, in: groups[0])
      case "len": position?.length
      case "offBeginning": position?.offsetFromBeginning
      case "offEnd": position?.offsetFromEnd
      case "optLen": mappings.window[groups[0]]?.length
      case "optOff": mappings.window[groups[0]]?.offset
      case "consolidatedName": mappings.consolidatedName
      case "threshold": mappings.consolidationThreshold
      case "rangeOptions": mappings.window[argument]
      case "depOffsets": "{" + mappings.neighbourOffsets[argument].map(String.init).joined(separator: ",") + "}"
      default: throw LogicError(what: term)
      }
    return value.map { "\($0)" } ?? "nil"
  }

  /// Whether a change is what a table says of it.
  private static func matches(_ change: ViewRowChange, _ text: String) -> Bool {
    var rest = text.prefix { $0 != "{" }
    if let letter = rest.first, letter.isLetter {
      guard change.description.first == letter else { return false }
      rest.removeFirst()
    }
    if let bits = text.between("{", "}") {
      let expected: [String: ViewAspects] = ["obj": .object, "dep": .dependency, "obj+dep": [.object, .dependency]]
      guard expected[bits] == change.aspects else { return false }
    }
    let ends = rest.split(separator: "→", omittingEmptySubsequences: false)
    let isMatch = { (end: Substring, path: ViewPath?) in
      if end == "✗" { return path == nil || change.kind == .delete }
      return end.isEmpty || end == (end.contains(".") ? path?.description : path.map { "\($0.row)" }) ?? ""
    }
    return isMatch(ends[0], change.originalPath) && (ends.count < 2 || isMatch(ends[1], change.finalPath))
  }
}
