// Feeds of encrypted collections. The cipher is a toy, so that this runs in every build; what it is bound to is real.

import QuireTesting
import Testing

@testable import QuireDatabase
@testable import QuireStorage

/// Adds a number to each byte, and puts what the value is bound to behind it.
private final class ToyProtection: RowProtection, @unchecked Sendable {
  // Sendable: safe because nothing changes.
  private let number: UInt8

  init(_ number: UInt8) {
    self.number = number
    super.init(acceptsPlain: false)
  }

  override var currentKeyID: UInt32 { UInt32(number) }

  private func bound(_ place: SealingPlace) -> [UInt8] {
    let text = "\(place.salt) \(place.collection) \(place.half) \(place.key)"
    return FeedHash.hash(Array(text.utf8), seed: 0).littleEndianBytes + [UInt8](repeating: 0, count: 20)
  }

  override func seal(_ value: UnsafeRawBufferPointer, _ place: SealingPlace, into bytes: inout [UInt8]) throws {
    bytes += SealedHeader.bytes(keyID: currentKeyID)
    bytes += value.map { $0 &+ number }
    bytes += bound(place)
  }

  override func open(_ stored: UnsafeRawBufferPointer, _ place: SealingPlace) throws(SealError) -> [UInt8] {
    let header = try SealedHeader(stored)
    guard header.keyID == currentKeyID else { throw .missingKey(header.keyID) }
    guard Array(stored.suffix(28)) == bound(place) else { throw .notAuthentic }
    return stored.dropFirst(SealedHeader.byteCount).dropLast(28).map { $0 &- number }
  }
}

@Suite("Change feeds of encrypted collections") struct FeedEncryptionTests {
  private let feed = ChangeFeed("sealed", keeping: .bothValues)

  private func texts(_ number: UInt8) -> RowCollection<String, String> {
    let coder = RowCoder<String>(RowCoder.binary, upgrades: nil, protection: ToyProtection(number))
    return RowCollection("texts", coder: coder, metadataCoder: coder)
  }

  @Test("Values stand in the feed as they do in their rows, and are read with the key alone, whatever the rows became")
  func staysSealed() throws {
    let db = try Database.inMemory(options: Database.Options(feeds: [feed]))
    let secret = "nobody must read this"
    let texts = texts(3)
    try db.write { tx throws in try tx[texts].set(secret, metadata: secret + "!", for: "d1") }
    try db.write { tx throws in try tx[texts].replace("less", for: "d1") }
    try db.write { tx throws in _ = try tx[texts].remove("d1") }
    let log = try #require(try db.nextChanges(of: feed, after: nil, mode: .log))
    let changes = try log.changes(in: texts)
    #expect(changes.count == 3)
    #expect(try changes[0].new?.object == secret && changes[0].new?.metadata == secret + "!")
    #expect(try changes[1].old?.object == secret && changes[1].new?.object == "less")
    #expect(try changes[2].old?.object == "less" && changes[2].new == nil)
    #expect(try log.changes[0].newRow()?.object.content == .encrypted(key: 3))
    let others = try log.changes(in: self.texts(4))
    #expect(errorCode { _ = try others[0].new } == .missingKey)
    let plain = try log.changes(in: RowCollection<String, String>("texts"))
    #expect(errorCode { _ = try plain[0].new } == .missingKey)
    // Nothing of it stands in the tree in the clear.
    try db.core.engine.read { tx throws in
      let found = tx.tree(named: "quire.feed.sealed")
      let tree = try #require(found)
      var reader = FeedTree(try tx.cursor(tree))
      var isOnEntry = try reader.seek(behind: FeedPosition(csn: 1, part: 0, chain: 0))
      var count = 0
      while isOnEntry {
        let text = String(decoding: try reader.entry().body.bytes, as: UTF8.self)
        #expect(!text.contains("nobody") && !text.contains("less") && text.contains("d1"))
        count += 1
        isOnEntry = try reader.next()
      }
      #expect(count == 3)
    }
  }
}
