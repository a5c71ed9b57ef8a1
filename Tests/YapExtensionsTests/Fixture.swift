// What the tests share.

import Foundation
import QuireTesting
import YapCompat
import YapExtensions

/// A database in a folder of its own, with all types of items.
final class Fixture {
  let folder: TestFolder
  private(set) var database: YapDatabase
  private(set) var connection: YapDatabaseConnection
  let errors = Recorder()

  init() throws {
    folder = try TestFolder()
    (database, connection) = try Self.open(folder, errors)
    Self.register(database)
  }

  private static func open(_ folder: TestFolder, _ errors: Recorder) throws -> (YapDatabase, YapDatabaseConnection) {
    let database = try YapDatabase(url: folder.url.appendingPathComponent("test.quire")) { errors.append("\($0)") }
    return (database, database.newConnection())
  }

  /// Everything is decoded anew afterwards.
  func reopen() throws {
    try database.close()
    (database, connection) = try Self.open(folder, errors)
    Self.register(database)
  }

  static func register(_ database: YapDatabase) {
    database.register(Barcode.self)
    database.register(Product.self, classes: [BarcodeCoder.self])
    database.register(Inventory.self, classes: [ProductCoder.self, BarcodeCoder.self])
    database.register(Person.self, classes: [Guest.self])
    database.register(Employee.self)
    database.register(Manager.self)
    database.register(Tag.self)
    database.register(Song.self)
    database.register(Photo.self)
    database.register(Note.self)
    database.register(Ticket.self)
    database.register(Robot.self)
    database.register(Poster.self)
  }
}

/// The error that `body` throws, as text.
func message(_ body: () throws -> Void) -> String {
  do { try body() } catch { return "\(error)" }
  return "no error"
}

enum Samples {
  static let vodka = Product(
    metadata: Product.Metadata(categoryIdentifier: 1), identifier: "vodka-123", name: "Belvidere",
    barcode: .upca(1, 2, 3, 4))
  static let gin = Product(
    metadata: Product.Metadata(categoryIdentifier: 2), identifier: "gin-123", name: "Boxer Gin",
    barcode: .qrCode("gin"))
  static let rum = Product(identifier: "rum-123", name: "Mount Gay Rum", barcode: .upca(12, 24, 39, 48))
}
