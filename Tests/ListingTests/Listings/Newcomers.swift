// The listings of the guides for those who come from another database.

import Foundation
import Quire
import QuireStorage

struct Player: Codable, Sendable {
  var name: String
  var score: Int
  var teamID: String?
}

extension RowCollection where Object == Player, Metadata == NoMetadata {
  static var players: Self { .init("players") }
}

extension Indexes where Object == Player, Metadata == NoMetadata {
  static var players: Self {
    .init("players.indexes", over: .players, version: "1") {
      Index("name", \.name.folded)
      Index("score", .descending(\.score))
    }
  }
}

extension Player: SynthesizedCodable {}

enum RecordListings {
  static func store(_ db: Database) throws {
    try db.register(Indexes.players)
    try db.write { tx in
      try tx[.players].set(Player(name: "Ana", score: 7, teamID: nil), for: "p1")
      try tx[.players].update("p1") { $0.score += 1 }
    }
  }

  static func find(_ tx: Quire.ReadTransaction) throws {
    let best = tx[.players].find { $0.score >= 5 && $0.name.folded.hasPrefix("a") }.order(by: .descending(\.score))
    for player in try best.objects { print(player.name, player.score) }
  }

  static func observe(_ db: Database) async throws {
    for try await count in db.observe({ tx in try tx[.players].find { $0.score > 1000 }.count }) { print(count) }
  }
}

struct Trip: Codable, Sendable {
  var destination: String
  var begins: Date
  var budget: Decimal?
}

struct Stay: Codable, Sendable {
  var hotel: String
  var tripID: String
}

extension RowCollection where Object == Trip, Metadata == NoMetadata {
  static var trips: Self { .init("trips") }
}

extension RowCollection where Object == Stay, Metadata == NoMetadata {
  static var stays: Self { .init("stays") }
}

let stayOf = Relationship<Stay>("stay.trip", over: .stays) { stay in
  [Edge("trip", to: .trips, key: stay.tripID, rules: .deleteSourceIfDestinationDeleted)]
}

struct StoredTrip: Codable, Sendable {
  var destination: String
  var begins: Date
  var budget: Decimal?
  enum CodingKeys: String, CodingKey { case destination = "DESTINATION", begins = "BEGINS", budget = "BUDGET" }
}

enum GraphListings {
  static func takeOver(_ db: Database) throws {
    try db.write { tx in
      for row in Array(tx[RowCollection<StoredTrip, NoMetadata>("Trip")].rows) {
        let old = row.object
        let trip = Trip(destination: old.destination, begins: old.begins, budget: old.budget)
        try tx[.trips].set(trip, for: row.key)
      }
    }
  }

  static func store(_ db: Database, _ begins: Date) throws {
    try db.register(stayOf)
    try db.write { tx in
      try tx[.trips].set(Trip(destination: "Lisbon", begins: begins, budget: 900), for: "t1")
      try tx[.stays].set(Stay(hotel: "Central", tripID: "t1"), for: "s1")
    }
    try db.write { tx in try tx[.trips].remove("t1") }  // and its stays
  }

  static func follow(_ db: Database, _ today: Date) async throws {
    let soon = RowCollection.trips.query { $0.begins >= today }.order(by: \.begins).limit(20)
    for try await update in try db.updates(of: soon) { print(update.keys, update.diff.rows) }
  }
}

struct Dog: Codable, Sendable {
  var name: String
  var age: Int
  var ownerID: String?
}

extension RowCollection where Object == Dog, Metadata == NoMetadata {
  static var dogs: Self { .init("dogs") }
}

enum LiveObjectListings {
  static func age(_ db: Database) throws -> [Dog] {
    try db.write { tx in try tx[.dogs].update("d1") { dog in dog.age += 1 } }
    let old = try db.read { tx in try tx[.dogs].find { $0.age > 10 }.objects }
    return old
  }
}

enum TreeListings {
  static func open(_ path: String) throws -> Bool {
    let engine = try StorageEngine(at: path)
    let songs = try engine.write { tx in try tx.tree(named: "songs") ?? tx.createTree("songs", keys: .bytes) }
    try engine.write { tx in try tx.upsert("Blue Train", for: "s1", in: songs) }
    let isThere = try engine.read { tx in try tx.contains("s1", in: songs) }
    return isThere
  }
}
