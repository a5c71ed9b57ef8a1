// The listings of “Coming from YapDatabaseExtensions” and of `YapExtensions`, which know nothing of Quire's own names.

import Foundation
import YapCompat
import YapExtensions

struct Product: Persistable {
  static let collection = "products"
  var identifier: Identifier
  var name: String
  var barcode: Barcode
  var metadata: Shelf?
}

struct Barcode { var digits: String }

extension Barcode: ValueCoding {
  typealias Coder = BarcodeCoder
}

final class BarcodeCoder: NSObject, NSCoding, CodingType {
  let value: Barcode
  required init(_ value: Barcode) { self.value = value }
  required init?(coder: NSCoder) {
    guard let digits = coder.decodeObject(forKey: "digits") as? String else { return nil }
    value = Barcode(digits: digits)
  }
  func encode(with coder: NSCoder) { coder.encode(value.digits, forKey: "digits") }
}

/// `Codable`, beside a product in a coder.
struct Shelf: Codable, Equatable { var number: Int }

extension Product: ValueCoding {
  typealias Coder = ProductCoder
}

final class ProductCoder: NSObject, NSCoding, CodingType {
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

enum YapExtensionListings {
  static func comeOver(
    _ url: URL, _ product: Product, _ products: [Product], _ report: @escaping @Sendable (any Error) -> Void,
    _ show: @escaping @Sendable ([Product]) -> Void
  ) throws -> [Product?] {
    let database = try YapDatabase(url: url) { error in report(error) }
    database.register(Product.self, classes: [BarcodeCoder.self])

    let connection = database.newConnection()
    let written = try connection.write(product)
    let same: Product? = try connection.readByKey("vodka-123")
    let curried = try connection.read(Product.readByKey("vodka-123"))
    let (existing, missing) = try Product.read(connection).filterExisting(["vodka-123", "gin-123"])
    products.asyncWrite(connection, queue: .main) { products in show(products) }
    return [written, same, curried] + existing + missing.map { _ in nil }
  }

  static func read(_ connection: YapDatabaseConnection) throws {
    let product = try Product.read(connection).byKey("vodka-123")
    try connection.read { transaction in
      let all = Product.read(transaction).all()
      print(all.count)
    }
    print(product?.name ?? "")
  }

  static func removeMetadata(_ product: Product, _ connection: YapDatabaseConnection) throws {
    try connection.write { transaction in
      transaction.replaceMetadata(nil, forKey: product.key, inCollection: Product.collection)
    }
  }
}
