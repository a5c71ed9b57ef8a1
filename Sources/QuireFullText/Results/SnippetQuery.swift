// What is searched for, made ready to be found in texts that are read token by token.

internal import QuireDatabase
internal import QuireText

/// The phrases of a search, with a table that says for a token which elements of phrases it is.
///
/// Invariants:
/// 1. The elements of each phrase have numbers one behind the other, in the order of the phrase, and so have the
///    phrases of each group.
/// 2. The groups stand in the order of the expression.
struct SnippetQuery {
  struct Group {
    let phrases: Range<Int>
    let distance: Int
    /// The fields that count.
    let fields: FieldMask
    /// Whether its places are shown: it does not stand on the right of an exclusion.
    let isShown: Bool
  }

  struct PhraseElements {
    let elements: Range<Int>
    /// How far each element is behind the first, in tokens.
    let offsets: [UInt32]
    let isAtStart: Bool

    var tokenCount: Int { Int(offsets.last ?? 0) + 1 }
  }

  /// What is true of a row, by the groups that it has.
  indirect enum Condition {
    case group(Int)
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
    let fields: FieldMask
  }

  private(set) var groups: [Group] = []
  private(set) var phrases: [PhraseElements] = []
  private(set) var elementCount = 0
  private(set) var condition = Condition.constant(false)
  /// Whether the other groups of the row decide about what is shown of one: an alternative has parts of several groups.
  private(set) var dependsOnRow = false
  /// By the hash of terms.
  private var entries: [UInt64: [Entry]] = [:]
  /// Whether there are prefixes of so many bytes.
  private var hasPrefixes = [Bool](repeating: false, count: TermKeys.maximumByteCount + 1)

  init(_ expression: TermExpression) {
    condition = add(expression, isShown: true, isAlternative: false)
  }

  // MARK: Making

  /// The depth of expressions is limited where they are resolved.
  private mutating func add(_ expression: TermExpression, isShown: Bool, isAlternative: Bool) -> Condition {
    switch expression {
    case .group(let group):
      add(group, isShown: isShown)
      return .group(groups.count - 1)
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

  private mutating func add(_ group: TermGroup, isShown: Bool) {
    let first = phrases.count
    for phrase in group.phrases {
      let elements = elementCount..<elementCount + phrase.elements.count
      for (number, element) in zip(elements, phrase.elements) {
        for term in element.terms { add(term, of: number, group.fields) }
      }
      elementCount = elements.upperBound
      phrases.append(
        PhraseElements(elements: elements, offsets: phrase.elements.map(\.offset), isAtStart: phrase.isAtStart))
    }
    groups.append(
      Group(
        phrases: first..<phrases.count, distance: group.distance, fields: group.fields, isShown: isShown))
  }

  private mutating func add(_ term: SearchTerm, of element: Int, _ fields: FieldMask) {
    assert(!term.bytes.isEmpty, "an empty term is none")
    if term.isPrefix { hasPrefixes[min(term.bytes.count, TermKeys.maximumByteCount)] = true }
    let entry = Entry(term: term.bytes, isPrefix: term.isPrefix, element: element, fields: fields)
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
        guard entry.fields >> FieldMask(field) & 1 != 0, entry.term.elementsEqual(term[..<count]) else { continue }
        body(entry.element, isWhole ? nil : count)
      }
    }
  }

  /// Whether a row is found that has these groups.
  func isFound(_ hasGroup: [Bool]) -> Bool { isTrue(condition, hasGroup) }

  private func isTrue(_ condition: Condition, _ hasGroup: [Bool]) -> Bool {
    switch condition {
    case .group(let group): hasGroup[group]
    case .all(let parts): parts.allSatisfy { isTrue($0, hasGroup) }
    case .any(let parts): parts.contains { isTrue($0, hasGroup) }
    case .excluding(let kept, let excluded): isTrue(kept, hasGroup) && !isTrue(excluded, hasGroup)
    case .constant(let isTrue): isTrue
    }
  }

  /// Which groups are shown of a row that has these groups: those that are part of all that is true above them.
  func shownGroups(_ hasGroup: [Bool]) -> [Bool] {
    var shown = [Bool](repeating: false, count: groups.count)
    func show(_ condition: Condition) {
      guard isTrue(condition, hasGroup) else { return }
      switch condition {
      case .group(let group): shown[group] = groups[group].isShown
      case .all(let parts), .any(let parts): for part in parts { show(part) }
      case .excluding(let kept, _): show(kept)
      case .constant: break
      }
    }
    show(condition)
    return shown
  }

  // MARK: Hashes

  private static let emptyHash: UInt64 = 0xcbf2_9ce4_8422_2325

  @inline(__always) private static func hash(_ hash: UInt64, _ byte: UInt8) -> UInt64 {
    (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
  }

  private static func hash(of bytes: [UInt8]) -> UInt64 { bytes.reduce(emptyHash) { hash($0, $1) } }
}
