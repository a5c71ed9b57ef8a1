// What a search finds, by definition.

import Foundation
import QuireDatabase
@testable import QuireFullText
import QuireText

/// Documents in memory that are searched by looking at the places of all their tokens: no blocks, no statistics that
/// are kept, nothing that is shared with the full text.
struct BruteForceSearch {
  let fields: [String]
  let tokenizer: any Tokenizer
  let detail: PostingDetail
  private var places: [[UInt8]: [RowID: [Place]]] = [:]
  /// The tokens of each row, in all fields.
  private(set) var lengths: [RowID: Int] = [:]
  private var terms: [RowID: Set<[UInt8]>] = [:]
  /// All rows, also those without a token.
  private(set) var rows: Set<RowID> = []

  /// Where a token stands in a row.
  struct Place: Hashable, Comparable {
    var field: Int
    var position: Int

    static func < (left: Place, right: Place) -> Bool { (left.field, left.position) < (right.field, right.position) }
  }

  /// The places of the phrases of a search in a row, by the phrases’ numbers.
  typealias Hits = [Int: [Place]]

  init(fields: [String], tokenizer: any Tokenizer, detail: PostingDetail = .positions) {
    (self.fields, self.tokenizer, self.detail) = (fields, tokenizer, detail)
  }

  // MARK: Changing

  mutating func set(_ row: RowID, _ texts: [String]) throws { try set(row, lists: texts.map { [$0] }) }

  /// - Parameter lists: the texts of each field.
  mutating func set(_ row: RowID, lists: [[String]]) throws {
    remove(row)
    rows.insert(row)
    for (field, texts) in lists.enumerated() {
      var tokens: [OracleToken] = []
      var last = -1
      for text in texts {
        // A position in front of each text is free, once there has been a token.
        if last >= 0 { last += 1 }
        let start = last + 1
        for var token in try tokenizer.tokens(of: text, for: .document) {
          token.position += start
          last = token.position
          tokens.append(token)
        }
      }
      for token in tokens { add(token, field, row) }
      let length = Set(tokens.map(\.position)).count
      if length > 0 { lengths[row, default: 0] += length }
    }
  }

  private mutating func add(_ token: OracleToken, _ field: Int, _ row: RowID) {
    let last = places[token.term]?[row]?.last
    let place = Place(field: field, position: token.position)
    terms[row, default: []].insert(token.term)
    // Without frequencies, a term counts once in a field.
    if detail == .rows, last?.field == field { return }
    // Tokens come in the order of their places.
    if last != place { places[token.term, default: [:]][row, default: []].append(place) }
  }

  mutating func remove(_ row: RowID) {
    for term in terms.removeValue(forKey: row) ?? [] { places[term]?[row] = nil }
    lengths[row] = nil
    rows.remove(row)
  }

  mutating func removeAll() { self = BruteForceSearch(fields: fields, tokenizer: tokenizer, detail: detail) }

  // MARK: Searching

  /// Whether an expression asks where tokens stand, by more than their fields.
  func needsPositions(_ expression: SearchExpression) throws -> Bool {
    switch expression {
    case .everything: return false
    case .near(let group):
      let phrases = try group.phrases.map { (tokens: try tokens(of: $0), isAtStart: $0.isAtStart) }
        .filter { !$0.tokens.isEmpty }
      return phrases.count > 1 || phrases.contains { $0.isAtStart || Set($0.tokens.map(\.position)).count > 1 }
    case .groups(let groups): return try groups.contains { try needsPositions(.near($0)) }
    case .all(let parts), .any(let parts): return try parts.contains { try needsPositions($0) }
    case .excluding(let kept, let excluded): return try needsPositions(kept) || needsPositions(excluded)
    }
  }

  /// A phrase of a search, with the rows that have it.
  private struct FoundPhrase {
    var length: Int
    var rows: [RowID: [Place]]
  }

  /// The rows that an expression finds, ascending.
  func rowIDs(_ expression: SearchExpression) throws -> [RowID] {
    var documentCounts: [Int] = []
    return try find(expression, &documentCounts).keys.sorted()
  }

  /// The rows with their scores, the best first, equal ones by row. Rows without tokens are no documents.
  func ranked(
    _ expression: SearchExpression, weights: [Double] = [], _ formula: InverseDocumentFrequency = .smooth
  ) throws -> [(row: RowID, score: Double)] {
    var documentCounts: [Int] = []
    let found = try find(expression, &documentCounts)
    let count = Double(lengths.count)
    let average = Double(lengths.values.reduce(0, +)) / max(count, 1)
    let scored = found.map { row, hits in
      var score = 0.0
      for (phrase, places) in hits {
        let frequency = places.reduce(0.0) { $0 + (weights.isEmpty ? 1 : weights[$1.field]) }
        let documents = Double(documentCounts[phrase])
        let odds = (count - documents + 0.5) / (documents + 0.5)
        let rarity = formula == .fts5 ? max(log(odds), 1e-6) : log(1 + odds)
        let length = 1 - 0.75 + 0.75 * Double(lengths[row] ?? 0) / average
        score += rarity * frequency * (1.2 + 1) / (frequency + 1.2 * length)
      }
      return (row: row, score: score)
    }
    return scored.sorted { ($1.score, $0.row) < ($0.score, $1.row) }
  }

  private func find(_ expression: SearchExpression, _ counts: inout [Int]) throws -> [RowID: Hits] {
    switch expression {
    case .everything: return everything
    case .near(let group): return try find(group, &counts) ?? [:]
    case .groups(let groups):
      return Self.intersection(try groups.compactMap { try find($0, &counts) }) ?? [:]
    case .all(let parts):
      return Self.intersection(try parts.map { try find($0, &counts) }) ?? everything
    case .any(let parts):
      var all: [RowID: Hits] = [:]
      for part in parts {
        all.merge(try find(part, &counts)) { $0.merging($1) { first, _ in first } }
      }
      return all
    case .excluding(let kept, let excluded):
      let found = try find(kept, &counts)
      let others = try find(excluded, &counts)
      return found.filter { others[$0.key] == nil }
    }
  }

  private var everything: [RowID: Hits] { Dictionary(uniqueKeysWithValues: rows.map { ($0, [:]) }) }

  /// The rows that all have; nil for none of them.
  private static func intersection(_ all: [[RowID: Hits]]) -> [RowID: Hits]? {
    guard var common = all.first else { return nil }
    for other in all.dropFirst() {
      var both: [RowID: Hits] = [:]
      for (row, hits) in common {
        if let others = other[row] { both[row] = hits.merging(others) { first, _ in first } }
      }
      common = both
    }
    return common
  }

  // MARK: Groups and phrases

  /// The rows of a group; nil if it has no token.
  private func find(_ group: NearGroup, _ counts: inout [Int]) throws -> [RowID: Hits]? {
    let mask = try group.fields?.mask(in: fields) ?? .max
    // What has no token is left out.
    let isSingle = try group.phrases.count { try !tokens(of: $0).isEmpty } == 1
    let phrases = try group.phrases.compactMap { try find($0, mask, isSingle: isSingle) }
    guard let first = phrases.first else { return nil }
    let number = counts.count
    counts += phrases.map(\.rows.count)
    if phrases.count == 1 { return first.rows.mapValues { [number: $0] } }
    var found: [RowID: Hits] = [:]
    for row in first.rows.keys where phrases.allSatisfy({ $0.rows[row] != nil }) {
      let near = Self.near(phrases.map { ($0.length, $0.rows[row] ?? []) }, group.distance)
      guard !near.isEmpty else { continue }
      found[row] = Dictionary(uniqueKeysWithValues: near.enumerated().map { (number + $0.offset, $0.element) })
    }
    return found
  }

  /// Those places of each phrase that are part of a match: for the beginning `last` of the phrase that begins last,
  /// every phrase ends no more than `distance` tokens before. Empty if nothing matches.
  private static func near(_ phrases: [(length: Int, places: [Place])], _ distance: Int) -> [[Place]] {
    var matching = phrases.map { _ in Set<Place>() }
    for last in Set(phrases.flatMap(\.places)) {
      let close = phrases.map { phrase in
        phrase.places.filter {
          $0.field == last.field && $0.position <= last.position
            && $0.position + phrase.length + distance >= last.position
        }
      }
      guard close.allSatisfy({ !$0.isEmpty }) else { continue }
      for (number, places) in close.enumerated() { matching[number].formUnion(places) }
    }
    return matching[0].isEmpty ? [] : matching.map { $0.sorted() }
  }

  /// The rows with a phrase in some fields; nil if it has no token.
  private func find(_ phrase: Phrase, _ mask: UInt64, isSingle: Bool) throws -> FoundPhrase? {
    let tokens = try tokens(of: phrase)
    guard let length = tokens.last.map({ $0.position + 1 }) else { return nil }
    var rows: [RowID: [Place]] = [:]
    var lists: [[RowID: [Place: Int]]] = []
    for position in 0..<length {
      let here = tokens.filter { $0.position == position }
      if !here.isEmpty { lists.append(self.places(of: here, before: position)) }
    }
    // Several forms of a word at one place count each, but not as parts of what places decide.
    let countsForms = isSingle && length == 1 && !phrase.isAtStart
    for (row, starts) in lists[0] {
      let places = starts.filter { start, _ in
        mask & (1 << UInt64(start.field)) != 0 && (!phrase.isAtStart || !isSingle || start.position == 0)
          && lists.allSatisfy { $0[row]?[start] != nil }
      }.flatMap { Array(repeating: $0, count: countsForms ? $1 : 1) }
      if !places.isEmpty { rows[row] = places.sorted() }
    }
    return FoundPhrase(length: length, rows: rows)
  }

  /// The tokens of a phrase, with what each text’s `*`, or that it has none, says of the last one so far.
  private func tokens(of phrase: Phrase) throws -> [OracleToken] {
    var tokens: [OracleToken] = []
    let lastText = try phrase.texts.lastIndex { try !tokenizer.tokens(of: $0, for: .query).isEmpty }
    for (number, text) in phrase.texts.enumerated() {
      let start = (tokens.last?.position ?? -1) + 1
      let new = try self.tokens(of: text, isFollowed: number < lastText ?? 0)
      tokens += new.map { OracleToken(term: $0.term, position: $0.position + start, isPrefix: $0.isPrefix) }
      guard let position = tokens.last?.position else { continue }
      for index in tokens.indices where tokens[index].position == position {
        if phrase.prefixes.contains(number) { tokens[index].isPrefix = true }
        if new.isEmpty && !phrase.prefixes.contains(number) { tokens[index].isPrefix = false }
      }
    }
    return tokens
  }

  /// The tokens of a text, of which those before a word if words follow.
  private func tokens(of text: String, isFollowed: Bool) throws -> [OracleToken] {
    // What follows a text is part of its last trigrams.
    guard isFollowed, !tokenizer.identity.hasPrefix("trigrams") else {
      return try tokenizer.tokens(of: text, for: .query)
    }
    let tokens = try tokenizer.tokens(of: text + " 0", for: .query)
    return tokens.filter { $0.position < tokens.last?.position ?? 0 }
  }

  /// The places by `offset` before those of any of some tokens, with how many terms stand there.
  private func places(of tokens: [OracleToken], before offset: Int) -> [RowID: [Place: Int]] {
    var chosen: Set<[UInt8]> = []
    for token in tokens {
      if token.isPrefix {
        chosen.formUnion(places.keys.lazy.filter { $0.starts(with: token.term) })
      } else {
        chosen.insert(token.term)
      }
    }
    var found: [RowID: [Place: Int]] = [:]
    for term in chosen {
      for (row, places) in places[term] ?? [:] {
        for place in places where place.position >= offset {
          found[row, default: [:]][Place(field: place.field, position: place.position - offset), default: 0] += 1
        }
      }
    }
    return found
  }
}
