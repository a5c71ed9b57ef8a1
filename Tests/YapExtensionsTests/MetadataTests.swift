// Metadata are set on reading, written on writing, and never erased by the way.

import Foundation
import Testing
import YapCompat
import YapExtensions

@Suite struct MetadataTests {
  private let fixture: Fixture
  private var connection: YapDatabaseConnection { fixture.connection }

  init() throws { fixture = try Fixture() }

  /// Writes an item with metadata, changes it, and writes it without.
  private func writesKeep<Item: YapExtensions.Persistable>(
    _ item: Item, _ metadata: Item.MetadataType
  ) throws where Item.MetadataType: Equatable {
    var first = item
    first.metadata = metadata
    try connection.write(first)
    var second = item
    second.metadata = nil
    let written = try connection.write(second)
    #expect(written.metadata == metadata)
    let read: Item? = try connection.readByKey(item.key)
    #expect(read?.metadata == metadata)
    // On purpose.
    try connection.readWrite { transaction in
      transaction.replaceMetadata(nil, forKey: item.key, inCollection: Item.collection)
    }
    let bare: Item? = try connection.readByKey(item.key)
    #expect(bare != nil && bare?.metadata == nil)
    second.metadata = nil
    #expect(try connection.write(second).metadata == nil)
  }

  @Test("Nil leaves what the row has, in every pattern") func nilKeeps() throws {
    try writesKeep(Samples.rum, Product.Metadata(categoryIdentifier: 3))
    try writesKeep(Inventory(product: Samples.rum), 5)
    try writesKeep(Employee(id: "e1", name: "John"), NSDate(timeIntervalSince1970: 1))
    try writesKeep(Manager(id: "m1", name: "John"), Manager.Metadata(numberOfDirectReports: 2))
    try writesKeep(Song(identifier: "s1", title: "Help!"), Song.PlayState(plays: 4))
    try writesKeep(Photo(identifier: "p1"), "beach")
    try writesKeep(Note(identifier: "n1"), 8)
    try writesKeep(Robot(id: "r1", name: "Marvin"), Song.PlayState(plays: 4))
    try writesKeep(Poster(identifier: "p2"), Product.Metadata(categoryIdentifier: 3))
  }

  @Test("The object changes and the metadata stay; other metadata take their place") func halvesAreApart() throws {
    try connection.write(Song(identifier: "s1", title: "Help!", metadata: Song.PlayState(plays: 3)))
    let written = try connection.write(Song(identifier: "s1", title: "Yesterday"))
    #expect(written == Song(identifier: "s1", title: "Yesterday", metadata: Song.PlayState(plays: 3)))
    try connection.write([Song(identifier: "s1", title: "Yesterday", metadata: Song.PlayState(plays: 4))])
    #expect(try Song.read(connection).byKey("s1")?.metadata?.plays == 4)
  }

  @Test("A row that is new has no metadata unless the item has") func newRows() throws {
    #expect(try connection.write(Samples.rum).metadata == nil)
    #expect(try Product.read(connection).byKey("rum-123")?.metadata == nil)
  }

  @Test("A row that was removed leaves no metadata to the next") func removedRows() throws {
    try connection.write(Samples.vodka)
    var bare = Samples.vodka
    bare.metadata = nil
    try connection.write { transaction in
      transaction.remove(Samples.vodka)
      #expect(transaction.write(bare).metadata == nil)
    }
  }
}
