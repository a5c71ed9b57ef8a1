// The listings of “Tutorial: a server with live updates”, in their order. `TutorialTests` runs them.

import Foundation
import Quire

struct Article: Codable, Sendable {
  var title: String
  var body: String
  var date: Date
  var version = 1
}

extension RowCollection where Object == Article, Metadata == NoMetadata {
  static var articles: Self { .init("articles") }
}

extension ChangeFeed {
  static var clients: Self { ChangeFeed("clients", over: .only(["articles"]), keeping: .keys) }
}

struct ArticleServer: Sendable {
  let db: Database

  init(at file: String) async throws {
    let dates = Indexes<Article, NoMetadata>("articles.indexes", over: .articles) { Index("date", \.date) }
    db = try await Database.open(at: file, options: .init(feeds: [.clients]), extensions: [dates])
  }
}

struct ArticlePage: Codable, Sendable {
  struct Item: Codable, Sendable {
    let id: String
    let title: String
    let date: Date
  }
  let items: [Item]
  let count: Int
}

extension ArticleServer {
  func page(_ number: Int, of size: Int) async throws -> ArticlePage {
    try await db.read { tx in
      let newest = tx[.articles].find { $0.date > .distantPast }.order(by: .descending(\.date))
      let rows = try newest.offset(number * size).limit(size).all
      let items = rows.map { row in
        ArticlePage.Item(id: row.key, title: row.object.title, date: row.object.date)
      }
      return ArticlePage(items: items, count: tx[.articles].count)
    }
  }
}

enum EditResult: Sendable, Equatable {
  case saved(version: Int)
  case conflict(version: Int)
}

extension ArticleServer {
  func save(_ article: Article, id: String, ifVersion expected: Int?) async throws -> EditResult {
    try await db.write { tx in
      let known = try tx[.articles].get(id)
      if let known, known.version != expected { return .conflict(version: known.version) }
      var article = article
      article.version = (known?.version ?? 0) + 1
      try tx[.articles].set(article, for: id)
      return .saved(version: article.version)
    }
  }
}

struct ServerEvent: Sendable, Equatable {
  let id: String
  let changedIDs: [String]

  var text: String { "id: \(id)\ndata: \(changedIDs.joined(separator: " "))\n\n" }
}

extension ArticleServer {
  func sendEvents(
    after lastEventID: String?, by write: @Sendable (String) async throws -> Void
  ) async throws {
    func reload() async throws { try await write("event: reload\nid: \(db.newestCursor(of: .clients))\ndata:\n\n") }
    let start = try lastEventID.map { FeedCursor($0) } ?? db.newestCursor(of: .clients)
    guard let start else { return try await reload() }
    do {
      for try await batch in db.changes(of: .clients, after: start) {
        let isEmptied = batch.changes.contains { $0.kind == .cleared || $0.kind == .clearedAll }
        if isEmptied { return try await reload() }
        let event = ServerEvent(id: "\(batch.cursor)", changedIDs: batch.changes.map(\.key))
        try await write(event.text)
      }
    } catch let error as DatabaseError {
      guard error.code == .cursorExpired || error.code == .cursorForeign else { throw error }
      try await reload()
    }
  }
}

extension ArticleServer {
  func load(_ articles: [(id: String, article: Article)], progress: @Sendable (Int) throws -> Void) async throws {
    var done = 0
    while done < articles.count {
      let batch = articles[done..<min(done + 1_000, articles.count)]
      try await db.write { tx in
        for (id, article) in batch { try tx[.articles].set(article, for: id) }
      }
      done += batch.count
      try progress(done)
    }
  }

  func backUp(to path: String) async throws {
    try await db.backup(to: path) { progress in try Task.checkCancellation() }
  }
}
