// What is noted of collections, where old notes stand beside those of the newest state.

import Testing

@testable import QuireDatabase

@Suite("Salvaging names of collections") struct SalvagedCollectionTests {
  private static let id = CollectionID(4)
  private static func format(_ field: String) throws -> [UInt8] {
    try CollectionFormat(
      id: id, objectSchema: RowSchema(names: [field]), metadataSchema: RowSchema(), coders: StoredCoders()
    ).bytes
  }

  @Test("The name of the newest state beats an old one", arguments: [true, false]) func twoNames(oldFirst: Bool) throws
  {
    var collections = SalvagedCollections()
    for isOld in [oldFirst, !oldFirst] {
      let defect = collections.take(
        Array((isOld ? "old" : "new").utf8), try Self.format(isOld ? "was" : "is"), isCurrent: !isOld)
      #expect(defect == nil)
    }
    #expect(collections[Self.id].name == "new")
    #expect(try collections[Self.id].format == Self.format("is"))
  }

  @Test("Of two names of one state one is told", arguments: [true, false]) func twins(isCurrent: Bool) throws {
    var collections = SalvagedCollections()
    #expect(collections.take(Array("a".utf8), try Self.format("f"), isCurrent: isCurrent) == nil)
    #expect(collections.take(Array("b".utf8), try Self.format("f"), isCurrent: isCurrent)?.contains("“a”") == true)
    #expect(collections[Self.id].name == "a")
  }

  @Test("Fields stay where the name is no text", arguments: [true, false]) func fieldsWithoutName(isNamed: Bool) throws
  {
    var collections = SalvagedCollections()
    #expect(collections.take([0xff], try Self.format("is"), isCurrent: false)?.contains("no text") == true)
    if isNamed { #expect(collections.take(Array("a".utf8), try Self.format("b"), isCurrent: false) == nil) }
    collections.count(Self.id) { $0.kept = 3 }
    let findings = collections.nameRest()
    #expect(collections[Self.id].name == (isNamed ? "a" : "salvaged.4"))
    #expect(try collections[Self.id].format == Self.format(isNamed ? "b" : "is"))
    #expect(findings.map(\.kind) == (isNamed ? [] : [.lostName]))
    #expect(findings.allSatisfy { $0.reason.contains("its fields are kept") })
  }

  /// Such as a later version may have.
  @Test("Name and fields stay where the coders are unknown") func unknownCoders() throws {
    var collections = SalvagedCollections()
    let defect = collections.take(Array("a".utf8), try Self.format("is") + [1, 0xee], isCurrent: true)
    #expect(defect?.contains("coders") == true)
    #expect(collections[Self.id].name == "a")
    #expect(try collections[Self.id].format == Self.format("is"))
    #expect(collections.take(Array("b".utf8), [1, 2, 3], isCurrent: true)?.contains("breaks the format") == true)
  }
}
