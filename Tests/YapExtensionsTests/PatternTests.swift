// Every pattern goes into a file and comes back.

import Foundation
import Quire
import Testing
import YapCompat
import YapExtensions

/// Writes an item, opens the file anew and reads it.
private func roundTrip<Item: YapExtensions.Persistable>(_ item: Item) throws -> Item? {
  let fixture = try Fixture()
  try fixture.connection.write(item)
  try fixture.reopen()
  return try fixture.connection.readAtIndex(item.index)
}

@Suite struct PatternTests {
  @Test func objectWithoutMetadata() throws {
    let person = try #require(try roundTrip(Person(id: "beatle-1", name: "John")))
    #expect(person.name == "John" && person.identifier == "beatle-1" && person.metadata == nil)
  }

  @Test func objectWithObjectMetadata() throws {
    let employee = Employee(id: "beatle-1", name: "John")
    employee.metadata = NSDate(timeIntervalSince1970: 5)
    let read = try #require(try roundTrip(employee))
    #expect(read.name == "John" && read.metadata == NSDate(timeIntervalSince1970: 5))
    #expect(read !== employee)
  }

  @Test func objectWithValueMetadata() throws {
    let manager = Manager(id: "beatle-1", name: "John")
    manager.metadata = Manager.Metadata(numberOfDirectReports: 4)
    let read = try #require(try roundTrip(manager))
    #expect(read.name == "John" && read.metadata == Manager.Metadata(numberOfDirectReports: 4))
  }

  @Test func valueWithoutMetadata() throws {
    #expect(try roundTrip(Barcode.upca(1, 2, 3, 4)) == .upca(1, 2, 3, 4))
    #expect(
      try roundTrip(Barcode.qrCode("I am a unique and special flower")) == .qrCode("I am a unique and special flower"))
  }

  @Test func valueWithObjectMetadata() throws {
    let inventory = Inventory(product: Samples.rum, metadata: 5)
    #expect(try roundTrip(inventory) == inventory)
  }

  @Test func valueWithValueMetadata() throws { #expect(try roundTrip(Samples.vodka) == Samples.vodka) }

  @Test func codableWithoutMetadata() throws {
    let tag = Tag(identifier: 7, text: "loud")
    #expect(tag.key == "7")
    #expect(try roundTrip(tag) == tag)
  }

  @Test func codableWithCodableMetadata() throws {
    let song = Song(identifier: "s1", title: "Help!", metadata: Song.PlayState(plays: 3))
    #expect(try roundTrip(song) == song)
  }

  @Test func codableBesideArchives() throws {
    let photo = Photo(identifier: "p1", metadata: "beach")
    #expect(try roundTrip(photo) == photo)
    let poster = Poster(identifier: "p2", metadata: Product.Metadata(categoryIdentifier: 3))
    #expect(try roundTrip(poster) == poster)
    let robot = Robot(id: "r1", name: "Marvin")
    robot.metadata = Song.PlayState(plays: 42)
    #expect(try roundTrip(robot)?.metadata?.plays == 42)
    let note = Note(identifier: "n1", metadata: 5)
    #expect(try roundTrip(note) == note)
    #expect(try roundTrip(Ticket(identifier: 5)) == Ticket(identifier: 5))
  }

  @Test("Rows hold what the original's rows held: coders, and objects themselves") func storedForms() throws {
    let fixture = try Fixture()
    let (person, song) = (Person(id: "p1", name: "John"), Song(identifier: "s1", title: "Help!"))
    try fixture.connection.write { transaction in
      transaction.write(Samples.vodka)
      transaction.write(person)
      transaction.write(song)
      transaction.write(Ticket(identifier: 5))
    }
    try fixture.connection.read { transaction in
      let stored = transaction.object(forKey: "vodka-123", inCollection: "Products")
      #expect((stored as? ProductCoder)?.value.name == "Belvidere")
      #expect(Product.decode(stored)?.name == "Belvidere")
      let metadata = transaction.metadata(forKey: "vodka-123", inCollection: "Products")
      #expect(Product.Metadata.decode(metadata) == Samples.vodka.metadata)
      #expect((transaction.object(forKey: "p1", inCollection: "People") as? Person)?.name == "John")
      #expect(transaction.object(forKey: "s1", inCollection: "Songs") as? Song == song)
      #expect(transaction.object(forKey: "5", inCollection: "Tickets") is TicketCoder)
    }
  }

  @Test("`Codable` items are rows of Quire's own collections") func typedRows() throws {
    let fixture = try Fixture()
    let song = Song(identifier: "s1", title: "Help!", metadata: Song.PlayState(plays: 3))
    try fixture.connection.write(song)
    let songs = RowCollection<Song, Song.PlayState>("Songs")
    let row = try #require(try fixture.database.quire.read { tx in try tx[songs].row("s1") })
    // The metadata are in one place.
    #expect(row.object == Song(identifier: "s1", title: "Help!") && row.metadata == Song.PlayState(plays: 3))
    try fixture.database.quire.write { tx in try tx[songs].set(song, metadata: Song.PlayState(plays: 4), for: "s1") }
    let read: Song? = try fixture.connection.readByKey("s1")
    #expect(read?.metadata?.plays == 4)
  }

  @Test("Subclasses are items of the class that was registered, if it names them") func subclasses() throws {
    let fixture = try Fixture()
    try fixture.connection.write(Guest(id: "g1", name: "Paul"))
    try fixture.reopen()
    let person: Person? = try fixture.connection.readByKey("g1")
    let guest: Guest? = try fixture.connection.readByKey("g1")
    #expect(person is Guest && guest?.name == "Paul")
  }
}

@Suite struct ValueCodingTests {
  @Test("Values and their coders, one and many") func encodedAndDecoded() {
    let barcodes: [Barcode] = [.upca(1, 2, 3, 4), .qrCode("flower")]
    #expect(barcodes.encoded.values == barcodes)
    #expect(Barcode.decode(barcodes[0].encoded) == barcodes[0])
    #expect(BarcodeCoder.decode(barcodes[1].encoded) == barcodes[1])
    #expect(Barcode.decode(nil) == nil && Barcode.decode(NSNumber(value: 1)) == nil)
    let decoded: [Barcode] = Barcode.decode([barcodes[0].encoded, NSNumber(value: 1), barcodes[1].encoded])
    #expect(decoded == barcodes)
  }

  @Test("Indexes are the same if their bytes are") func indexes() {
    #expect(YapDB.Index(collection: "a", key: "é") == YapDB.Index(collection: "a", key: "é"))
    #expect(YapDB.Index(collection: "a", key: "e\u{301}") != YapDB.Index(collection: "a", key: "\u{e9}"))
    #expect(Samples.vodka.index == YapDB.Index(collection: "Products", key: "vodka-123"))
    #expect(indexForPersistable(Samples.vodka) == Product.indexWithKey(keyForPersistable(Samples.vodka)))
    #expect(Product.indexesWithKeys(["b", "a"]).map(\.key) == ["b", "a"])
  }
}
