// The six patterns of the original, and the three that are `Codable`, in the original's spelling.

import Foundation
import YapExtensions

// MARK: - Values

/// A value without metadata.
enum Barcode: Equatable {
  case upca(Int, Int, Int, Int)
  case qrCode(String)
}

extension Barcode: Persistable {
  static let collection = "Barcodes"

  var identifier: Identifier {
    switch self {
    case .upca(let a, let b, let c, let d): "\(a).\(b).\(c).\(d)"
    case .qrCode(let code): code
    }
  }
}

extension Barcode: ValueCoding {
  typealias Coder = BarcodeCoder
}

class BarcodeCoder: NSObject, NSCoding, CodingType {
  let value: Barcode

  required init(_ value: Barcode) { self.value = value }

  required init?(coder: NSCoder) {
    if coder.containsValue(forKey: "code"), let code = coder.decodeObject(forKey: "code") as? String {
      value = .qrCode(code)
    } else {
      func number(_ index: Int) -> Int { coder.decodeInteger(forKey: "number\(index)") }
      value = .upca(number(0), number(1), number(2), number(3))
    }
  }

  func encode(with coder: NSCoder) {
    switch value {
    case .upca(let a, let b, let c, let d):
      for (index, number) in [a, b, c, d].enumerated() {
        coder.encode(number, forKey: "number\(index)")
      }
    case .qrCode(let code): coder.encode(code, forKey: "code")
    }
  }
}

/// A value with a value as metadata, and a value inside.
struct Product: Persistable, Equatable {
  struct Metadata: Equatable {
    let categoryIdentifier: Int
  }

  static let collection = "Products"

  var metadata: Metadata? = .none
  let identifier: Identifier
  let name: String
  let barcode: Barcode
}

extension Product: ValueCoding {
  typealias Coder = ProductCoder
}

extension Product.Metadata: ValueCoding {
  typealias Coder = ProductMetadataCoder
}

class ProductMetadataCoder: NSObject, NSCoding, CodingType {
  let value: Product.Metadata

  required init(_ value: Product.Metadata) { self.value = value }

  required init?(coder: NSCoder) {
    value = Product.Metadata(categoryIdentifier: coder.decodeInteger(forKey: "categoryIdentifier"))
  }

  func encode(with coder: NSCoder) { coder.encode(value.categoryIdentifier, forKey: "categoryIdentifier") }
}

class ProductCoder: NSObject, NSCoding, CodingType {
  let value: Product

  required init(_ value: Product) { self.value = value }

  required init?(coder: NSCoder) {
    guard let identifier = coder.decodeObject(forKey: "identifier") as? String,
      let name = coder.decodeObject(forKey: "name") as? String,
      let barcode = Barcode.decode(coder.decodeObject(forKey: "barcode"))
    else { return nil }
    value = Product(identifier: identifier, name: name, barcode: barcode)
  }

  func encode(with coder: NSCoder) {
    coder.encode(value.identifier, forKey: "identifier")
    coder.encode(value.name, forKey: "name")
    coder.encode(value.barcode.encoded, forKey: "barcode")
  }
}

/// A value with an object as metadata.
struct Inventory: Persistable, Equatable {
  static let collection = "Inventory"

  let product: Product
  var metadata: NSNumber? = .none

  var identifier: Identifier { product.identifier }
}

extension Inventory: ValueCoding {
  typealias Coder = InventoryCoder
}

class InventoryCoder: NSObject, NSCoding, CodingType {
  let value: Inventory

  required init(_ value: Inventory) { self.value = value }

  required init?(coder: NSCoder) {
    guard let product = Product.decode(coder.decodeObject(forKey: "product")) else { return nil }
    value = Inventory(product: product)
  }

  func encode(with coder: NSCoder) { coder.encode(value.product.encoded, forKey: "product") }
}

// MARK: - Objects

class NamedEntity: NSObject, NSCoding {
  let identifier: Identifier
  let name: String

  init(id: String, name: String) {
    identifier = id
    self.name = name
  }

  required init?(coder: NSCoder) {
    guard let identifier = coder.decodeObject(forKey: "identifier") as? String,
      let name = coder.decodeObject(forKey: "name") as? String
    else { return nil }
    self.identifier = identifier
    self.name = name
  }

  func encode(with coder: NSCoder) {
    coder.encode(identifier, forKey: "identifier")
    coder.encode(name, forKey: "name")
  }
}

/// An object without metadata.
class Person: NamedEntity, Persistable {
  static let collection = "People"
}

/// One that is stored among people.
class Guest: Person {}

/// An object with an object as metadata.
class Employee: NamedEntity, Persistable {
  static let collection = "Employees"
  var metadata: NSDate?
}

/// An object with a value as metadata.
class Manager: NamedEntity, Persistable {
  struct Metadata: Equatable {
    let numberOfDirectReports: Int
  }

  static let collection = "Managers"
  var metadata: Metadata?
}

extension Manager.Metadata: ValueCoding {
  typealias Coder = ManagerMetadataCoder
}

class ManagerMetadataCoder: NSObject, NSCoding, CodingType {
  let value: Manager.Metadata

  required init(_ value: Manager.Metadata) { self.value = value }

  required init?(coder: NSCoder) {
    value = Manager.Metadata(numberOfDirectReports: coder.decodeInteger(forKey: "numberOfDirectReports"))
  }

  func encode(with coder: NSCoder) { coder.encode(value.numberOfDirectReports, forKey: "numberOfDirectReports") }
}

// MARK: - Codable

/// A `Codable` value without metadata.
struct Tag: Persistable, Codable, Equatable {
  static let collection = "Tags"
  let identifier: Int
  var text: String
}

/// A `Codable` value with `Codable` metadata.
struct Song: Persistable, Codable, Equatable {
  struct PlayState: Codable, Equatable { var plays: Int }

  static let collection = "Songs"
  let identifier: Identifier
  var title: String
  var metadata: PlayState?
}

/// A `Codable` value with an object as metadata.
struct Photo: Persistable, Codable, Equatable {
  static let collection = "Photos"
  let identifier: Identifier
  var metadata: NSString?

  private enum CodingKeys: String, CodingKey { case identifier }
}

/// A value in a coder with `Codable` metadata, of a type that a property list does not take alone.
struct Note: Persistable, ValueCoding, Equatable {
  typealias Coder = NoteCoder
  static let collection = "Notes"
  let identifier: Identifier
  var metadata: Int?
}

class NoteCoder: NSObject, NSCoding, CodingType {
  let value: Note

  required init(_ value: Note) { self.value = value }

  required init?(coder: NSCoder) {
    guard let identifier = coder.decodeObject(forKey: "identifier") as? String else { return nil }
    value = Note(identifier: identifier)
  }

  func encode(with coder: NSCoder) { coder.encode(value.identifier, forKey: "identifier") }
}

/// What is both `Codable` and in a coder: the coder counts.
struct Ticket: Persistable, Codable, ValueCoding, Equatable {
  typealias Coder = TicketCoder
  static let collection = "Tickets"
  let identifier: Int
}

class TicketCoder: NSObject, NSCoding, CodingType {
  let value: Ticket

  required init(_ value: Ticket) { self.value = value }
  required init?(coder: NSCoder) { value = Ticket(identifier: coder.decodeInteger(forKey: "identifier")) }
  func encode(with coder: NSCoder) { coder.encode(value.identifier, forKey: "identifier") }
}

/// An object with `Codable` metadata.
class Robot: NamedEntity, Persistable {
  static let collection = "Robots"
  var metadata: Song.PlayState?
}

/// A `Codable` value with a value as metadata.
struct Poster: Persistable, Codable, Equatable {
  static let collection = "Posters"
  let identifier: Identifier
  var metadata: Product.Metadata?

  private enum CodingKeys: String, CodingKey { case identifier }
}
