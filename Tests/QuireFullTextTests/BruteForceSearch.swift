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
  private var places: [[UInt8]: [RowID: [Place]]] = [:]
  /// The tokens of each row, in all fields.
  private(set) var lengths: [RowID: Int] = [:]
  private var terms: [RowID: Set<[UInt8]>] = [:]

  /// Where a token stands in a row.
  struct Place: Hashable, Comparable {
    var field: Int
    var position: Int

    static func < (left: Place, right: Place) -> Bool { (left.field, left.position) < (right.field, right.position) }
  }

  /// The places of the phrases of a search in a row, by the phrases’ numbers.
  typealias Hits = [Int: [Place]]

  init(fields: [String], tokenizer: any Tokenizer) { (self.fields, self.tokenizer) = (fields, tokenizer) }

  // MARK: Changing

  mutating func set(_ row: RowID, _ texts: [String]) throws {
    remove(row)
    for (field, text) in texts.enumerated() {
      for token in try tokenizer.tokens(of: text, for: .document) {
        places[token.term, default: [:]][row, default: []].append(Place(field: field, position: token.position))
        terms[row, default: []].insert(token.term)
        lengths[row, default: 0] += 1
      }
    }
    // A row without tokens is found by nothing but `*`, and still counts as no document.
  }

  mutating func remove(_ row: RowID) {
    for term in terms.removeValue(forKey: row) ?? [] { places[term]?[row] = nil }
    lengths[row] = nil
  }

  mutating func removeAll() { self = BruteForceSearch(fields: fields, tokenizer: tokenizer) }

  // MARK: Searching

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

  /// The rows with their scores, the best first, equal ones by row.
  func ranked(_ expression: SearchExpression, weights: [Double] = []) throws -> [(row: RowID, score: Double)] {
    var documentCounts: [Int] = []
    let found = try find(expression, &documentCounts)
    let count = Double(lengths.count)
    let average = Double(lengths.values.reduce(0, +)) / max(count, 1)
    let scored = found.map { row, hits in
      var score = 0.0
      for (phrase, places) in hits {
        let frequency = places.reduce(0.0) { $0 + (weights.isEmpty ? 1 : weights[$1.field]) }
        let documents = Double(documentCounts[phrase])
        let rarity = max(log((count - documents + 0.5) / (documents + 0.5)), 1e-6)
        let length = 1 - 0.75 + 0.75 * Double(lengths[row] ?? 0) / average
        score += rarity * frequency * (1.2 + 1) / (frequency + 1.2 * length)
      }
      return (row: row, score: score)
    }
    return scored.sorted { ($1.score, $0.row) < ($0.score, $1.row) }
  }

  private func find(_ expression: SearchExpression, _ counts: inout [Int]) throws -> [RowID: Hits] {
    switch expression {
    case .everything: return lengths.mapValues { _ in [:] }
    case .near(let group): return try find(group, &counts) ?? [:]
    case .groups(let groups):
      return Self.intersection(try groups.compactMap { try find($0, &counts) }) ?? [:]
    case .all(let parts):
      return Self.intersection(try parts.map { try find($0, &counts) }) ?? lengths.mapValues { _ in [:] }
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
    let isSingle = group.phrases.count == 1
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
    var tokens: [OracleToken] = []
    for (number, text) in phrase.texts.enumerated() {
      let next = (tokens.last?.position ?? -1) + 1
      for var token in try tokenizer.tokens(of: text, for: .query) {
        token.position += next
        tokens.append(token)
      }
      if let last = tokens.indices.last, phrase.prefixes.contains(number) || !tokens[last].isPrefix {
        tokens[last].isPrefix = phrase.prefixes.contains(number)
      } else if let last = tokens.indices.last, try tokenizer.tokens(of: text, for: .query).isEmpty {
        tokens[last].isPrefix = false
      }
    }
    guard let length = tokens.last.map({ $0.position + 1 }) else { return nil }
    var rows: [RowID: [Place]] = [:]
    var lists: [[RowID: Set<Place>]] = []
    for position in 0..<length {
      let here = tokens.filter { $0.position == position }
      if !here.isEmpty { lists.append(self.places(of: here, before: position)) }
    }
    for (row, starts) in lists[0] {
      let places = starts.filter { start in
        mask & (1 << UInt64(start.field)) != 0 && (!phrase.isAtStart || !isSingle || start.position == 0)
          && lists.allSatisfy { $0[row]?.contains(start) == true }
      }
      if !places.isEmpty { rows[row] = places.sorted() }
    }
    return FoundPhrase(length: length, rows: rows)
  }

  /// The places by `offset` before those of any of some tokens.
  private func places(of tokens: [OracleToken], before offset: Int) -> [RowID: Set<Place>] {
    var found: [RowID: Set<Place>] = [:]
    func take(_ rows: [RowID: [Place]]) {
      for (row, places) in rows {
        found[row, default: []].formUnion(
          places.lazy.filter { $0.position >= offset }.map { Place(field: $0.field, position: $0.position - offset) })
      }
    }
    for token in tokens {
      if token.isPrefix {
        for (term, rows) in places where term.starts(with: token.term) { take(rows) }
      } else if let rows = places[token.term] {
        take(rows)
      }
    }
    return found
  }
}
