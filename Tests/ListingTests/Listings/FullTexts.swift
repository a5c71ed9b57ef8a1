// The listings about full texts: those of `FullText`, `SearchField`, expressions, results and tokenizers.

import Quire

struct TextListingSong: Codable, Sendable { var title: String, lyrics: String, tags: [String], year: Int }
struct TextListingNote: Codable, Sendable { var note: String }

private typealias Song = TextListingSong

extension RowCollection where Object == Song, Metadata == NoMetadata {
  fileprivate static var songs: Self { .init("songs") }
}

extension FullText where Object == Song, Metadata == NoMetadata {
  static var songs: Self {
    .init("songs.text", over: .songs, version: "1", tokenizer: .words.stemmed(.english)) {
      SearchField("title", \.title, weight: 4)
      SearchField("lyrics", \.lyrics)
      SearchField("tags", each: \.tags)
    }
  }
}

enum FullTextListings {
  static func register(_ db: Database) throws {
    try db.register(FullText.songs)
  }

  static func search(_ db: Database, _ tx: ReadTransaction) throws -> Int {
    try db.register(FullText.songs)
    let found = try tx[.songs].search("\"night train\" OR express*")
    return try found.count
  }

  @SearchFieldBuilder<TextListingSong, TextListingNote>
  static var fields: [SearchField<TextListingSong, TextListingNote>] {
    SearchField("title", \.title, weight: 4)
    SearchField("tags", each: \.tags)
    SearchField("note", metadata: \.note)
    SearchField("all") { song, metadata in "\(song.title) \(metadata?.note ?? "")" }
  }

  static func show(_ tx: ReadTransaction) throws {
    let found = try tx[.songs].search("\"night train\" OR express*")
    print(try found.count)
    for hit in found.ranked().limit(10) { print(hit.score, hit.object.title) }
    for row in found.filtered({ $0.year > 1990 }) { print(row.key) }
    for hit in try tx[.songs].search("night train").ranked().limit(10) { print(hit.score, hit.object.title) }
    for term in try tx[.songs].terms(beginningWith: "nig").prefix(8) { print(term.text, term.rowCount) }
  }

  static func find(_ tx: ReadTransaction) throws -> [String] {
    let trains = tx[.songs].find { $0.year > 1990 && $0.matches("\"night train\" OR express*") }.order(by: \.year)
    return try trains.keys
  }

  static func select(_ tx: ReadTransaction) throws -> [String] {
    let trains = SearchSelection<Song, NoMetadata>("night train")
    let later = tx[.songs].find { $0.year > 1990 && .rows(trains) }.order(by: \.year)
    return try later.keys
  }

  static func type(_ tx: ReadTransaction, _ typed: String) throws {
    for hit in try tx[.songs].search(typing: typed).ranked().limit(10) {
      print(hit.object.title, try hit.snippet(of: "lyrics").marked())
    }
    let words = try tx[.songs].terms(beginningWith: typed).mostFrequent(8)
    print(words.map(\.text))
  }

  static func rank(_ found: MatchedRows<TextListingSong, NoMetadata>) throws {
    let page = try found.ranked().weights(["title": 8]).limit(10).offset(20).hits
    let latest = try found.ranked().ranked(multipliedBy: \.year).limit(10).hits
    let byYear = try found.filtered { $0.year > 1990 }.order(by: \.year).keys
    print(page.count, latest.count, byYear)
  }

  static func show(_ db: Database) throws {
    let found = SearchView("songs.found", over: [.songs], bestRows: 100, reading: ["songs.text"])
    try db.register(found)
    let trains = SearchSelection<Song, NoMetadata>("night train")
    try db.write { tx in try tx.access(to: found).search(trains) }
  }

  static func maintain(_ db: Database) throws {
    try db.write { tx in _ = try tx.access(to: FullText.songs).merge() }
    try db.read { tx in try tx.access(to: FullText.songs).verify() }
  }

  static var expressions: [SearchExpression] {
    let trains: SearchExpression = (.phrase("night train") || .prefix("express")) && !.word("live", in: "title")
    return [
      trains,
      typed,
    ]
  }

  static var typed: SearchExpression {
    SearchExpression(typing: "\"night train\" li")  // the phrase, and a word that begins with “li”
  }

  static var tokenizers: [any Tokenizer] {
    let tokenizer: any Tokenizer = .words  // "Straßen, Cafés" gives strassen, cafes
    let accented: any Tokenizer = .words.keepingAccents()  // strassen, cafés
    let stemmed: any Tokenizer = .words.stemmed(.english)  // "running horses" gives run, hors
    return [tokenizer, accented, stemmed]
  }
}

extension FullTextListings {
  static func words(_ db: Database, _ texts: @escaping @Sendable (RowChange) -> String?) throws -> [RowID] {
    @Sendable func text(of change: RowChange) -> String? { texts(change) }
    let words = FamilyText("words", over: .all, tokenizer: .words, fields: ["content"]) { change in [text(of: change)] }
    try db.register(words)
    let found = try db.read { tx in try tx.access(to: words).rowIDs(matching: SearchExpression("hello wor*")) }
    return found
  }
}
