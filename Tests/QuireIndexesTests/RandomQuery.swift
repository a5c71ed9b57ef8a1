// Conditions and orders at random, each with what plain Swift makes of it.

import Foundation
import QuireDatabase
@testable import QuireIndexes
import QuireTesting

/// A row of the model.
struct ModelRow {
  let key: String
  /// Rows are numbered in the order in which they were inserted.
  let number: Int
  var track: Track
  var plays: Plays?
}

/// A condition in both forms.
struct RandomCondition {
  let text: String
  let condition: TrackCondition
  let isTrue: (ModelRow) -> Bool
}

/// An order in both forms.
struct RandomOrder {
  let text: String
  let columns: [IndexColumn<Track, Plays>]
  /// Negative, zero or positive.
  let compare: (ModelRow, ModelRow) -> Int
}

extension SeededRandom {
  mutating func pick<Element>(_ list: [Element]) -> Element { list[below(list.count)] }

  mutating func title() -> String {
    switch below(12) {
    case 0: return ""
    case 1: return String(repeating: "long", count: 50 + below(30)) + String(below(3))
    case 2: return pick(["Émile", "emile", "EMILE", "a\0b", "a\0", "\u{10ffff}", "ß"])
    default: return String((0..<1 + below(3)).map { _ in pick(["a", "b", "c"] as [Character]) })
    }
  }

  mutating func score() -> Double {
    pick([.nan, -.infinity, .infinity, -0.0, 0, 1.5, -1.5, 1e300, Double(below(5))])
  }

  mutating func track() -> Track {
    Track(
      title: title(), year: 1988 + below(12), rating: below(4) == 0 ? nil : Double(below(10)) / 2,
      mood: pick(Track.Mood.allCases), tags: (0..<below(4)).map { _ in pick(["x", "y", "z", "long tag", ""]) },
      album: Track.Album(name: pick(["A", "B", "C"])), added: Date(timeIntervalSinceReferenceDate: Double(below(40))),
      score: score())
  }

  mutating func condition(depth: Int = 3) -> RandomCondition {
    guard depth > 0, below(3) > 0 else { return comparison() }
    let (left, right) = (condition(depth: depth - 1), condition(depth: depth - 1))
    switch below(5) {
    case 0:
      return RandomCondition(text: "!(\(left.text))", condition: !left.condition) { !left.isTrue($0) }
    case 1, 2:
      return RandomCondition(text: "(\(left.text) || \(right.text))", condition: left.condition || right.condition) {
        left.isTrue($0) || right.isTrue($0)
      }
    default:
      return RandomCondition(text: "(\(left.text) && \(right.text))", condition: left.condition && right.condition) {
        left.isTrue($0) && right.isTrue($0)
      }
    }
  }

  private mutating func comparison() -> RandomCondition {
    let fields = Fields<Track, Plays>()
    switch below(20) {
    case 0, 1:
      let year = 1987 + below(14)
      return compared(fields.year, year, "year") { $0.track.year }
    case 2:
      let rating: Double? = below(5) == 0 ? nil : Double(below(11)) / 2
      return comparedOptional(fields.rating, rating)
    case 3:
      let title = title()
      return compared(fields.title, title, "title", { $0.utf8.lexicographicallyPrecedes($1.utf8) }) { $0.track.title }
    case 4:
      let prefix = pick(["", "a", "ab", "long", String(repeating: "long", count: 55), "a\0", "É"])
      return RandomCondition(text: "title^\(prefix)", condition: fields.title.hasPrefix(prefix)) {
        $0.track.title.utf8.starts(with: prefix.utf8)
      }
    case 5, 6:
      let tag = pick(["x", "y", "z", "long tag", "", "none"])
      return RandomCondition(text: "tag=\(tag)", condition: fields.tags.contains(tag)) { $0.track.tags.contains(tag) }
    case 7:
      let tags = ["x", "", "none", "y"].filter { _ in below(2) == 0 }
      return RandomCondition(text: "tags in \(tags)", condition: fields.tags.contains(anyOf: tags)) { row in
        tags.contains { row.track.tags.contains($0) }
      }
    case 8:
      let mood = pick(Track.Mood.allCases)
      return RandomCondition(text: "mood=\(mood)", condition: fields.mood == mood) { $0.track.mood == mood }
    case 9:
      let name = pick(["A", "B", "D"])
      return RandomCondition(text: "album=\(name)", condition: fields.album.name == name) {
        $0.track.album.name == name
      }
    case 10:
      let count = below(4)
      return RandomCondition(text: "plays>=\(count)", condition: fields.metadata.count >= count) {
        $0.plays.map { $0.count >= count } ?? false
      }
    case 11:
      let text = title()
      return RandomCondition(text: "folded=\(text)", condition: fields.title.folded == text.folded) {
        $0.track.title.folded == text.folded
      }
    case 12:
      let years = (0..<below(5)).map { _ in 1987 + below(14) } + (below(3) == 0 ? (0..<40).map { 1990 + 2 * $0 } : [])
      return RandomCondition(text: "year in \(years)", condition: fields.year.isIn(years)) {
        years.contains($0.track.year)
      }
    case 15:
      // More than are asked for one by one, of which many are not there.
      let titles = (0..<18 + below(60)).map { below(4) == 0 ? title() : "\(pick(["", "a", "ab", "m", "z"]))\($0)" }
      return RandomCondition(text: "title in \(titles)", condition: fields.title.isIn(titles)) { row in
        titles.contains { $0.utf8.elementsEqual(row.track.title.utf8) }
      }
    case 16:
      let scores = (0..<18 + below(60)).map { below(4) == 0 ? score() : Double($0) * 0.37 - 5 }
      return RandomCondition(text: "score in \(scores)", condition: fields.score.isIn(scores)) {
        scores.contains($0.track.score)
      }
    case 13:
      let number = score()
      return compared(fields.score, number, "score") { $0.track.score }
    case 14...16: return keyComparison()
    default:
      let rest = below(3)
      return RandomCondition(text: "closure \(rest)", condition: .closure { track, _ in track.year % 3 == rest }) {
        $0.track.year % 3 == rest
      }
    }
  }

  private mutating func compared<Value: SortKey & Comparable & Sendable>(
    _ term: Term<Track, Plays, Track, Value>, _ value: Value, _ name: String,
    _ read: @escaping (ModelRow) -> Value
  ) -> RandomCondition {
    compared(term, value, name, <, read)
  }

  private mutating func compared<Value: SortKey & Comparable & Sendable>(
    _ term: Term<Track, Plays, Track, Value>, _ value: Value, _ name: String,
    _ isBelow: @escaping (Value, Value) -> Bool, _ read: @escaping (ModelRow) -> Value
  ) -> RandomCondition {
    // Two texts are the same if their bytes are.
    let isSame: (Value, Value) -> Bool = { left, right in
      if let left = left as? String, let right = right as? String { return left.utf8.elementsEqual(right.utf8) }
      return left == right
    }
    switch below(6) {
    case 0: return RandomCondition(text: "\(name)=\(value)", condition: term == value) { isSame(read($0), value) }
    case 1: return RandomCondition(text: "\(name)!=\(value)", condition: term != value) { !isSame(read($0), value) }
    case 2: return RandomCondition(text: "\(name)<\(value)", condition: term < value) { isBelow(read($0), value) }
    case 3:
      return RandomCondition(text: "\(name)<=\(value)", condition: term <= value) {
        isBelow(read($0), value) || isSame(read($0), value)
      }
    case 4: return RandomCondition(text: "\(name)>\(value)", condition: term > value) { isBelow(value, read($0)) }
    default:
      return RandomCondition(text: "\(name)>=\(value)", condition: term >= value) {
        isBelow(value, read($0)) || isSame(read($0), value)
      }
    }
  }

  private mutating func comparedOptional(
    _ term: Term<Track, Plays, Track, Double?>, _ value: Double?
  ) -> RandomCondition {
    let name = "rating \(value.map { "\($0)" } ?? "nil")"
    switch below(4) {
    case 0: return RandomCondition(text: "=\(name)", condition: term == value) { $0.track.rating == value }
    case 1: return RandomCondition(text: "!=\(name)", condition: term != value) { $0.track.rating != value }
    case 2:
      return RandomCondition(text: "<\(name)", condition: term < value) { row in
        guard let value, let rating = row.track.rating else { return false }
        return rating < value
      }
    default:
      return RandomCondition(text: ">=\(name)", condition: term >= value) { row in
        guard let value, let rating = row.track.rating else { return false }
        return rating >= value
      }
    }
  }

  mutating func order() -> RandomOrder {
    var order = RandomOrder(text: "", columns: []) { _, _ in 0 }
    for _ in 0..<below(4) {
      let (isDescending, kind, before) = (below(2) == 0, below(5), order)
      func compare(_ one: [UInt8], _ two: [UInt8]) -> Int {
        if one == two { return 0 }
        return one.lexicographicallyPrecedes(two) != isDescending ? -1 : 1
      }
      func joined(
        _ name: String, _ up: IndexColumn<Track, Plays>, _ down: IndexColumn<Track, Plays>,
        _ read: @escaping (ModelRow) -> [UInt8]
      ) -> RandomOrder {
        RandomOrder(
          text: before.text + (isDescending ? "-" : "+") + name, columns: before.columns + [isDescending ? down : up]
        ) { one, two in
          let first = before.compare(one, two)
          return first != 0 ? first : compare(read(one), read(two))
        }
      }
      order =
        switch kind {
        case 0: joined("year", .ascending(\.year), .descending(\.year)) { $0.track.year.sortBytes }
        case 1: joined("rating", .ascending(\.rating), .descending(\.rating)) { $0.track.rating.sortBytes }
        case 2: joined("title", .ascending(\.title), .descending(\.title)) { $0.track.title.sortBytes }
        case 3: joined("plays", .metadata(\.count), .metadataDescending(\.count)) { ($0.plays?.count).sortBytes }
        default: joined("mood", .ascending(\.mood), .descending(\.mood)) { $0.track.mood.sortBytes }
        }
    }
    return order
  }
}
