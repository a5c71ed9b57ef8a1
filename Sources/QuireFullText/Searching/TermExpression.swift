// What is searched for, in the terms that are stored.

/// One term of a phrase, or all that begin with it.
struct SearchTerm: Hashable, Sendable {
  var bytes: [UInt8]
  var isPrefix = false
}

/// Terms one behind the other in a field.
///
/// Invariants:
/// 1. There is an element, and each has a term.
/// 2. The offsets ascend from 0, strictly but for those that are `.max`, which no token has.
struct TermPhrase: Hashable, Sendable {
  /// A place in the phrase: one of the terms has to stand there.
  struct Element: Hashable, Sendable {
    var terms: [SearchTerm]
    /// How far it is behind the first element, in tokens.
    var offset: UInt32

    /// The only term; nil if there are several, or if one is the beginning of others.
    var singleTerm: [UInt8]? { terms.count == 1 && !terms[0].isPrefix ? terms[0].bytes : nil }
  }

  var elements: [Element]
  /// Whether the first token of the field has to be the first element.
  var isAtStart = false

  /// The only term; nil for all phrases that positions decide.
  var singleTerm: [UInt8]? { elements.count == 1 && !isAtStart ? elements[0].singleTerm : nil }
  /// Whether positions decide which rows have it.
  var needsPositions: Bool { elements.count > 1 || isAtStart }
  /// How many tokens it takes.
  var tokenCount: Int { Int(elements.last?.offset ?? 0) + 1 }
}

/// Phrases near each other in a field, or a single one.
struct TermGroup: Hashable, Sendable {
  /// At least one.
  var phrases: [TermPhrase]
  /// How many tokens may stand between the phrases, at the most; without meaning for a single phrase.
  var distance: Int
  /// The fields that count.
  var fields: FieldMask
}

/// What is searched for, in the terms that are stored, of which fields are numbers.
indirect enum TermExpression: Hashable, Sendable {
  case group(TermGroup)
  /// At least two.
  case all([TermExpression])
  /// At least two.
  case any([TermExpression])
  case excluding(TermExpression, TermExpression)
  case everything
  case nothing

  /// The only term that has to be there, in any field; nil of all other expressions.
  func singleTerm(of form: PostingForm) -> [UInt8]? {
    guard case .group(let group) = self, group.phrases.count == 1, group.fields == form.allFields else { return nil }
    return group.phrases[0].singleTerm
  }
}

extension [TermPhrase] {
  /// The phrases that differ from each other, and for each phrase its number among those. Equal ones stand at the same
  /// places, so that what is near one of them is near all.
  var distinct: (phrases: [TermPhrase], numbers: [Int]) {
    var (phrases, known) = ([TermPhrase](), [TermPhrase: Int]())
    let numbers = map { phrase in
      if let number = known[phrase] { return number }
      known[phrase] = phrases.count
      phrases.append(phrase)
      return phrases.count - 1
    }
    return (phrases, numbers)
  }
}
