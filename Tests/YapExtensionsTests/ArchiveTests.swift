// Archives that hold what they should not.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat
import YapExtensions

private enum Outer {
  /// Foundation archives no class inside of another type on Linux.
  class Nested: NSObject, NSCoding, YapExtensions.Persistable {
    static let collection = "Nested"
    let identifier = "n"
    override init() {}
    required init?(coder: NSCoder) {}
    func encode(with coder: NSCoder) {}
  }
}

/// An object that holds another one.
class Chain: NSObject, NSCoding, YapExtensions.Persistable {
  static let collection = "Chains"
  let identifier: Identifier
  var next: Chain?

  init(identifier: Identifier) { self.identifier = identifier }

  required init?(coder: NSCoder) {
    guard let identifier = coder.decodeObject(forKey: "identifier") as? String else { return nil }
    self.identifier = identifier
    // Without a look whether the key is there.
    next = coder.decodeObject(forKey: "next") as? Chain
  }

  func encode(with coder: NSCoder) {
    coder.encode(identifier, forKey: "identifier")
    if let next { coder.encode(next, forKey: "next") }
  }
}

@Suite struct ArchiveTests {
  private let fixture: Fixture
  private var connection: YapDatabaseConnection { fixture.connection }

  init() throws { fixture = try Fixture() }

  /// What reading a product says whose row holds these bytes.
  private func reading(_ data: Data) throws -> String {
    let rows = RowCollection<[UInt8], [UInt8]>("Products", coder: .bytes, metadataCoder: .bytes)
    try fixture.database.quire.write { tx in try tx[rows].set(Array(data), for: "p") }
    return message {
      let product = try Product.read(connection).byKey("p")
      throw Reading(product: product)
    }
  }

  private struct Reading: Error {
    var product: Product?
  }

  private func archive(_ object: Any) throws -> Data {
    try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false)
  }

  @Test("An object of another class is an error that names it") func otherClass() throws {
    let text = try reading(try archive(Person(id: "p", name: "John")))
    #expect(text.contains("YapExtensionsTests.Person") && text.contains("register(_:classes:)"))
    #expect(text.contains("Products"))
    let inside = try reading(try archive(NSArray(array: [Samples.vodka.encoded, Person(id: "p", name: "John")])))
    #expect(inside.contains("YapExtensionsTests.Person"))
    // Permitted, but no product.
    #expect(try reading(try archive(NSArray(array: [NSNumber(value: 1)]))).contains("collectionMismatch"))
    #expect(try reading(try archive(Samples.vodka.barcode.encoded)).contains("collectionMismatch"))
  }

  @Test("A class that was not named is an error when it is written, not when it is read") func unnamedClass() throws {
    fixture.database.register(Product.self)
    let text = message { try connection.write(Samples.vodka) }
    #expect(text.contains("BarcodeCoder") && text.contains("register(_:classes:)"))
    fixture.database.register(Person.self)
    #expect(message { try connection.write(Guest(id: "g", name: "Paul")) }.contains("Guest"))
  }

  #if os(Linux)
    @Test("A class that Foundation cannot name is an error") func nestedClass() throws {
      fixture.database.register(Outer.Nested.self)
      #expect(message { try connection.write(Outer.Nested()) }.contains("Nested"))
    }
  #endif

  @Test("Bytes that are no archive are errors") func noArchive() throws {
    let plist = try PropertyListSerialization.data(fromPropertyList: ["a": 1], format: .binary, options: 0)
    let empty = NSKeyedArchiver(requiringSecureCoding: false)
    empty.finishEncoding()
    for data in [Data(), Data([1, 2, 3]), Data("bplist00".utf8), plist, empty.encodedData] {
      #expect(try reading(data).contains("decodingFailed"))
    }
  }

  @Test("References that lead nowhere are errors") func danglingReferences() throws {
    let list = try PropertyListSerialization.propertyList(from: archive(Samples.vodka.encoded), format: nil)
    var archive = try #require(list as? [String: Any])
    let objects = try #require(archive["$objects"] as? [Any])
    for count in 0..<objects.count {
      archive["$objects"] = Array(objects.prefix(count))
      let data = try PropertyListSerialization.data(fromPropertyList: archive, format: .binary, options: 0)
      #expect(try reading(data).contains("decodingFailed"))
    }
  }

  @Test("A dictionary with more objects than keys, or nothing for a key, is an error") func lopsidedDictionary() throws
  {
    let whole = try archive(NSDictionary(dictionary: ["a": 1, "b": 2]))
    #expect(try reading(whole).contains("collectionMismatch"))
    let list = try PropertyListSerialization.propertyList(from: whole, format: nil)
    let archive = try #require(list as? [String: Any])
    let objects = try #require(archive["$objects"] as? [Any])
    let dictionary = try #require(objects[1] as? [String: Any])
    for half in ["NS.keys", "NS.objects"] {
      let references = try #require(dictionary[half] as? [Any])
      for forged in [Array(references.dropLast()), references + ["c"], ["c", "d"]] {
        var (archive, objects, dictionary) = (archive, objects, dictionary)
        dictionary[half] = forged
        objects[1] = dictionary
        archive["$objects"] = objects
        let data = try PropertyListSerialization.data(fromPropertyList: archive, format: .binary, options: 0)
        #expect(try reading(data).contains("decodingFailed"))
      }
    }
  }

  @Test("Objects that hold themselves, or too many in each other, are errors when they are written") func depth() throws
  {
    fixture.database.register(Chain.self)
    let ring = Chain(identifier: "ring")
    ring.next = ring
    #expect(message { try connection.write(ring) }.contains("encodingFailed"))
    ring.next = nil
    func chain(_ length: Int) -> Chain {
      (0..<length).reduce(Chain(identifier: "end")) { rest, number in
        let chain = Chain(identifier: "\(number)")
        chain.next = rest
        return chain
      }
    }
    #expect(message { try connection.write(chain(1000)) }.contains("encodingFailed"))
    try connection.write(chain(250))
    #expect(try Chain.read(connection).byKey("249")?.next?.next?.identifier == "247")
  }

  @Test("A key that an object can do without is no error") func missingKey() throws {
    fixture.database.register(Chain.self)
    try connection.write(Chain(identifier: "a"))
    #expect(try Chain.read(connection).byKey("a")?.next == nil)
  }

  @Test("No flipped bit ends the process") func flippedBits() throws {
    let product = Samples.vodka.encoded
    let data = try archive(product)
    let rows = RowCollection<[UInt8], [UInt8]>("Products", coder: .bytes, metadataCoder: .bytes)
    // In the short size some bits of each byte.
    let bits = Array(stride(from: 0, to: data.count * 8, by: TestSize.isFull ? 1 : 5))
    try fixture.database.quire.write { tx in
      for bit in bits {
        var bytes = Array(data)
        bytes[bit / 8] ^= 1 << UInt8(bit % 8)
        try tx[rows].set(bytes, for: "\(bit)")
      }
    }
    var (read, refused) = (0, 0)
    for bit in bits {
      do {
        read += try Product.read(connection).byKey("\(bit)") == nil ? 0 : 1
      } catch let error as DatabaseError {
        #expect(error.code == .decodingFailed || error.code == .collectionMismatch, "bit \(bit): \(error)")
        refused += 1
      }
    }
    #expect(read + refused == bits.count && read > 0 && refused > read)
  }
}
