// What is searched for, made ready to be found in texts that are read token by token.

internal import QuireDatabase
internal import QuireText

/// The phrases of a search, with a table that says for a token which elements of phrases it is.
///
/// Groups, phrases and elements that are equal are one, however often a search has them; how often, and where, is kept
/// beside them.
///
/// Invariants:
/// 1. The phrases of each group have numbers one behind the other, and differ from each other.
/// 2. The occurrences of groups stand in the order of the expression.
struct SnippetQuery {
  /// Phrases near each other, or a single one.
  struct Group {
    let phrases: Range<Int>
    let distance: Int
    /// The fields that count.
    let fields: FieldMask
    /// The phrases in the order in which they were written, equal ones as often as there.
    let written: [Int]
  }

  /// A place in the expression that has a group.
  struct Occurrence {
    let group: Int
    /// Whether what it finds is shown: it does not stand on the right of an exclusion.
    let isShown: Bool
  }

  struct PhraseElements {
    let elements: [Int]
    /// How far each element is behind the first, in tokens.
    let offsets: [UInt32]
    let isAtStart: Bool

    var tokenCount: Int { Int(offsets.last ?? 0) + 1 }
  }

  /// What is true of a row, by the groups that it has.
  indirect enum Condition {
    /// The row has the group of an occurrence.
    case occurrence(Int)
    case all([Condition])
    case any([Condition])
    case excluding(Condition, Condition)
    case constant(Bool)
  }

  /// A term of an element.
  private struct Entry {
    let term: [UInt8]
    let isPrefix: Bool
    let element: Int
  }

  private(set) var groups: [Group] = []
  private(set) var occurrences: [Occurrence] = []
  private(set) var phrases: [PhraseElements] = []
  private(set) var condition = Condition.constant(false)
  /// Whether the other groups of the row decide about what is shown of one: an alternative has parts of several groups.
  private(set) var dependsOnRow = false
  /// For each element, the fields in which a phrase has it.
  private var elementFields: [FieldMask] = []
  private var knownGroups: [TermGroup: Int] = [:]
  private var knownElements: [[SearchTerm]: Int] = [:]
  /// By the hash of terms.
  private var entries: [UInt64: [Entry]] = [:]
  /// Whether there are prefixes of so many bytes.
  private var hasPrefixes = [Bool](repeating: false, count: TermKeys.maximumByteCount + 1)

  init(_ expression: TermExpression) {
    condition = add(expression, isShown: true, isAlternative: false)
    (knownGroups, knownElements) = ([:], [:])
  }

  var elementCount: Int { elementFields.count }

  // MARK: Making

  /// The depth of expressions is limited where they are resolved.
  private mutating func add(_ expression: TermExpression, isShown: Bool, isAlternative: Bool) -> Condition {
    switch expression {
    case .group(let group):
      occurrences.append(Occurrence(group: number(of: group), isShown: isShown))
      return .occurrence(occurrences.count - 1)
    case .all(let parts):
      if isAlternative, isShown { dependsOnRow = true }
      return .all(parts.map { add($0, isShown: isShown, isAlternative: isAlternative) })
    case .any(let parts): return .any(parts.map { add($0, isShown: isShown, isAlternative: true) })
    case .excluding(let kept, let excluded):
      if isAlternative, isShown { dependsOnRow = true }
      let kept = add(kept, isShown: isShown, isAlternative: isAlternative)
      return .excluding(kept, add(excluded, isShown: false, isAlternative: isAlternative))
    case .everything: return .constant(true)
    case .nothing: return .constant(false)
    }
  }

  private mutating func number(of group: TermGroup) -> Int {
    if let number = knownGroups[group] { return number }
    let (distinct, numbers) = group.phrases.distinct
    let first = phrases.count
    for phrase in distinct {
      let elements = phrase.elements.map { number(of: $0, group.fields) }
      phrases.append(
        PhraseElements(elements: elements, offsets: phrase.elements.map(\.offset), isAtStart: phrase.isAtStart))
    }
    groups.append(
      Group(
        phrases: first..<phrases.count, distance: group.distance, fields: group.fields,
        written: numbers.map { first + $0 }))
    knownGroups[group] = groups.count - 1
    return groups.count - 1
  }

  private mutating func number(of element: TermPhrase.Element, _ fields: FieldMask) -> Int {
    if let number = knownElements[element.terms] {
      elementFields[number] |= fields
      return number
    }
    let number = elementFields.count
    elementFields.append(fields)
    knownElements[element.terms] = number
    for term in element.terms { add(term, of: number) }
    return number
  }

  private mutating func add(_ term: SearchTerm, of element: Int) {
    assert(!term.bytes.isEmpty, "an empty term is none")
    if term.isPrefix { hasPrefixes[min(term.bytes.count, TermKeys.maximumByteCount)] = true }
    let entry = Entry(term: term.bytes, isPrefix: term.isPrefix, element: element)
    entries[Self.hash(of: term.bytes), default: []].append(entry)
  }

  // MARK: Asking

  /// Calls `body` with the elements that a term is in a field, and the length of the term that was asked for in bytes
  /// if it is a beginning of this one, else nil.
  @inline(__always)
  func forEachElement(of term: [UInt8], field: Int, _ body: (_ element: Int, _ prefixByteCount: Int?) -> Void) {
    var hash = Self.emptyHash
    for index in term.indices {
      hash = Self.hash(hash, term[index])
      let count = index + 1
      let isWhole = count == term.count
      guard isWhole || count < hasPrefixes.count && hasPrefixes[count], let found = entries[hash] else { continue }
      for entry in found where entry.isPrefix || isWhole {
        guard elementFields[entry.element] >> FieldMask(field) & 1 != 0, entry.term.elementsEqual(term[..<count])
        else { continue }
        body(entry.element, isWhole ? nil : count)
      }
    }
  }

  private func isTrue(_ condition: Condition, _ hasGroup: [Bool]) -> Bool {
    switch condition {
    case .occurrence(let number): hasGroup[occurrences[number].group]
    case .all(let parts): parts.allSatisfy { isTrue($0, hasGroup) }
    case .any(let parts): parts.contains { isTrue($0, hasGroup) }
    case .excluding(let kept, let excluded): isTrue(kept, hasGroup) && !isTrue(excluded, hasGroup)
    case .constant(let isTrue): isTrue
    }
  }

  /// What is shown of a row where nothing but the expression decides that.
  var shownPhrases: ShownPhrases { shownPhrases { $0.isShown } }

  /// What is shown of a row that has these groups: those that are part of all that is true above them.
  func shownPhrases(_ hasGroup: [Bool]) -> ShownPhrases {
    var isTrueAbove = [Bool](repeating: false, count: occurrences.count)
    func show(_ condition: Condition) {
      guard isTrue(condition, hasGroup) else { return }
      switch condition {
      case .occurrence(let number): isTrueAbove[number] = true
      case .all(let parts), .any(let parts): for part in parts { show(part) }
      case .excluding(let kept, _): show(kept)
      case .constant: break
      }
    }
    show(condition)
    var number = -1
    return shownPhrases { occurrence in
      number += 1
      return isTrueAbove[number] && occurrence.isShown
    }
  }

  /// - Parameter isShown: whether an occurrence is; asked in their order.
  private func shownPhrases(_ isShown: (Occurrence) -> Bool) -> ShownPhrases {
    var shown = ShownPhrases(phraseCount: phrases.count)
    var written = 0
    for occurrence in occurrences {
      let isShown = isShown(occurrence)
      for phrase in groups[occurrence.group].written {
        if isShown { shown.add(phrase, number: written) }
        written += 1
      }
    }
    return shown
  }

  // MARK: Hashes

  private static let emptyHash: UInt64 = 0xcbf2_9ce4_8422_2325

  @inline(__always) private static func hash(_ hash: UInt64, _ byte: UInt8) -> UInt64 {
    (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
  }

  private static func hash(of bytes: [UInt8]) -> UInt64 { bytes.reduce(emptyHash) { hash($0, $1) } }
}

/// Which phrases of a search are shown of a row.
struct ShownPhrases {
  /// For each phrase, how often the search has it where it is shown.
  private(set) var counts: [Int]
  /// For each phrase, the place of the last of these in the search.
  private(set) var numbers: [Int]

  init(phraseCount: Int) {
    counts = Array(repeating: 0, count: phraseCount)
    numbers = counts
  }

  /// Takes in a phrase that is shown; `number` is above those before.
  fileprivate mutating func add(_ phrase: Int, number: Int) {
    counts[phrase] += 1
    numbers[phrase] = number
  }
}
