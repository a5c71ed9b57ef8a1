// The examples of the page that introduced YapDatabaseExtensions 2, as they stand there but for Swift's own changes.

import Foundation
import Testing
import YapCompat
import YapExtensions

/// What composes values in its own archive.
class Shop: NSObject, NSCoding, YapExtensions.Persistable {
  static let collection = "Shops"
  let identifier: Identifier
  let flagship: Barcode
  let stock: [Barcode]

  init(identifier: Identifier, flagship: Barcode, stock: [Barcode]) {
    (self.identifier, self.flagship, self.stock) = (identifier, flagship, stock)
  }

  required init?(coder decoder: NSCoder) {
    guard let identifier = decoder.decodeObject(forKey: "identifier") as? String,
      let flagship = Barcode.decode(decoder.decodeObject(forKey: "flagship"))
    else { return nil }
    self.identifier = identifier
    self.flagship = flagship
    stock = Barcode.decode(decoder.decodeObject(forKey: "stock") as? [Any])
  }

  func encode(with encoder: NSCoder) {
    encoder.encode(identifier, forKey: "identifier")
    encoder.encode(flagship.encoded, forKey: "flagship")
    encoder.encode(stock.encoded, forKey: "stock")
  }
}

@Suite struct PageTests {
  private let fixture: Fixture
  private var connection: YapDatabaseConnection { fixture.connection }

  init() throws { fixture = try Fixture() }

  @Test("Writing functions figure the type out, and reading ones are told") func genericReturnTypes() throws {
    let employee = Employee(id: "e1", name: "John")
    employee.metadata = NSDate(timeIntervalSince1970: 1)
    let index = employee.index
    // Writing functions will figure the type out
    let written = try connection.write(employee)
    #expect(written === employee)
    // Reading requires type specification
    let read: Employee? = try connection.readAtIndex(index)
    #expect(read?.name == "John" && read?.metadata == employee.metadata)
  }

  @Test("The curried API") func curried() throws {
    typealias Item = Inventory
    let item = Inventory(product: Samples.rum, metadata: 4)
    // Write an item to the database in a new transaction
    // using a connection.
    let result = try connection.write(item.write())
    // Read an item by key from the database in a new transaction
    // using a connection.
    let read = try connection.read(Item.readByKey(item.key))
    #expect(result == read && read == item)
  }

  @Test("The Persistable API") func persistable() throws {
    typealias Item = Manager
    let items = ["a", "b"].map { Manager(id: $0, name: "Manager \($0)") }
    // Write an sequence of items to the database
    // synchronously using a connection
    try items.write(connection)
    // Read an item by key from the database in a new transaction
    // using a connection.
    let item = try Item.read(connection).byKey("b")
    #expect(item?.name == "Manager b" && item?.metadata == nil)
    #expect(try Item.read(connection).atIndexes(items.map(\.index)).map(\.name) == items.map(\.name))
  }

  @Test("Values are composed inside of other archives") func composition() throws {
    fixture.database.register(Shop.self, classes: [BarcodeCoder.self])
    let stock: [Barcode] = [.upca(1, 2, 3, 4), .qrCode("b")]
    try Shop(identifier: "s", flagship: .qrCode("a"), stock: stock).write(connection)
    let shop = try #require(try Shop.read(connection).byKey("s"))
    #expect(shop.flagship == .qrCode("a") && shop.stock == stock)
  }
}
