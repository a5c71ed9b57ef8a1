// What an app has to say once.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat
import YapExtensions

/// Two types of one collection.
private struct Cat: YapExtensions.Persistable, Codable, Equatable {
  static let collection = "Pets"
  let identifier: Identifier
}

private struct Dog: YapExtensions.Persistable, Codable, Equatable {
  static let collection = "Pets"
  let identifier: Identifier
}

@Suite struct RegistrationTests {
  private let folder: TestFolder
  private let database: YapDatabase
  private let connection: YapDatabaseConnection

  init() throws {
    folder = try TestFolder()
    database = try YapDatabase(url: folder.url.appendingPathComponent("test.quire"))
    connection = database.makeNewConnection()
  }

  @Test("Forgetting it is an error that names the call, whatever is registered besides") func forgotten() throws {
    for _ in 0..<2 {
      for forgotten in [
        message { try connection.write(Samples.vodka) }, message { try Samples.vodka.write(connection) },
        message { _ = try connection.read(Product.readByKey("vodka-123")) },
        message { _ = try Product.read(connection).all() },
        message { _ = try connection.readWrite { $0.write([Samples.vodka]) } },
      ] {
        #expect(forgotten.contains("Call `database.register(Product.self)`") && forgotten.contains("Products"))
      }
      database.registerDefaultCodableSerialization(String.self, metadata: String.self)
    }
    database.register(Product.self, classes: [BarcodeCoder.self])
    #expect(try connection.write(Samples.vodka) == Samples.vodka)
  }

  @Test("Each database has registrations of its own") func databases() throws {
    database.register(Tag.self)
    let other = try YapDatabase(url: folder.url.appendingPathComponent("other.quire"))
    let tag = Tag(identifier: 1, text: "a")
    #expect(try tag.write(connection) == tag)
    #expect(message { try tag.write(other.makeNewConnection()) }.contains("register(Tag.self)"))
  }

  @Test("A second type of a collection takes it over, and the first is told") func takenOver() throws {
    database.register(Cat.self)
    database.register(Cat.self)
    database.register(Dog.self)
    let told = message { try Cat(identifier: "c").write(connection) }
    #expect(told.contains("Cat") && told.contains("Dog") && told.contains("Pets"))
    #expect(try Dog(identifier: "d").write(connection).identifier == "d")
    // What rows have been made of stays what they are.
    database.register(Cat.self)
    #expect(message { try Cat(identifier: "c").write(connection) }.contains("collectionMismatch"))
  }

  @Test("The collection may be described with its coders") func described() throws {
    let rows = RowCollection<Song, Song.PlayState>("Songs", coder: .json, metadataCoder: .json)
    database.register(Song.self, rows: rows)
    database.register(Tag.self, rows: RowCollection("Tags", coder: .json))
    try connection.write(Tag(identifier: 1, text: "a"))
    #expect(try Tag.read(connection).all() == [Tag(identifier: 1, text: "a")])
    let song = Song(identifier: "s1", title: "Help!", metadata: Song.PlayState(plays: 1))
    try connection.write(song)
    #expect(try Song.read(connection).byKey("s1") == song)
    try connection.read { transaction in
      let bytes = try #require(transaction.serializedMetadata(forKey: "s1", inCollection: "Songs"))
      #expect(String(decoding: bytes, as: UTF8.self) == #"{"plays":1}"#)
    }
  }

  @Test("What fails rolls everything back, also what was written before") func rollback() throws {
    database.register(Tag.self)
    let failure = message {
      try connection.write { transaction in
        transaction.write(Tag(identifier: 1, text: "a"))
        transaction.write(Samples.vodka)
        #expect(transaction.failure != nil)
      }
    }
    #expect(failure.contains("register(Product.self)"))
    #expect(try Tag.read(connection).all().isEmpty)
  }
}
