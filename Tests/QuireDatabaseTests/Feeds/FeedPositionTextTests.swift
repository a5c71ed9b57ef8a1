// Positions in feeds as consumers keep them: bytes, text, and what a coder makes of them.

import Foundation
import QuireStorage
import Testing

@testable import QuireDatabase

@Suite struct FeedPositionTextTests {
  private static let lineage = DatabaseID(high: 7, low: 1 << 63)
  private static let plain = FeedCursor(lineage, 5, FeedPosition(csn: 9, part: 2, chain: 77), toldCount: 0, seen: nil)
  private static let catchingUp = FeedCursor(
    lineage, 5, FeedPosition(csn: 9, part: 2, chain: 77), toldCount: 3,
    seen: FeedPosition(csn: 12, part: 0, chain: 99))
  private static let bootstraps = [
    BootstrapPosition(plain, isComplete: false, [1, 2, 3]), BootstrapPosition(catchingUp, isComplete: true, []),
  ]

  @Test(arguments: [plain, catchingUp]) func cursorsComeBack(cursor: FeedCursor) throws {
    #expect(FeedCursor(bytes: cursor.bytes) == cursor && FeedCursor("\(cursor)") == cursor)
    #expect(cursor.csn == CSN(9) && cursor.part == 2 && cursor.chain == 77)
    let coded = try JSONEncoder().encode([cursor])
    #expect(try JSONDecoder().decode([FeedCursor].self, from: coded) == [cursor])
  }

  @Test(arguments: bootstraps) func bootstrapsComeBack(position: BootstrapPosition) throws {
    #expect(BootstrapPosition(bytes: position.bytes)?.bytes == position.bytes)
    #expect(BootstrapPosition("\(position)")?.isComplete == position.isComplete)
    let coded = try JSONEncoder().encode([position])
    #expect(try JSONDecoder().decode([BootstrapPosition].self, from: coded).map(\.bytes) == [position.bytes])
  }

  @Test("Any byte that is another one, and any that is missing, is noticed")
  func damagedPositions() {
    for position in Self.bootstraps {
      let bytes = position.bytes
      for index in bytes.indices {
        var changed = bytes
        changed[index] ^= 0x10
        #expect(BootstrapPosition(bytes: changed) == nil && BootstrapPosition(bytes: bytes.prefix(index)) == nil)
      }
    }
    for cursor in [Self.plain, Self.catchingUp] {
      for index in cursor.bytes.indices {
        var changed = cursor.bytes
        changed[index] ^= 1
        #expect(FeedCursor(bytes: changed) == nil && FeedCursor(bytes: cursor.bytes.prefix(index)) == nil)
      }
    }
  }

  @Test func textsOfNoPositionAreNone() {
    for text in ["", "0", "zz", "00", String(repeating: "0", count: 500)] {
      #expect(FeedCursor(text) == nil && BootstrapPosition(text) == nil)
      let coded = Data("[\"\(text)\"]".utf8)
      #expect(throws: DecodingError.self) { try JSONDecoder().decode([FeedCursor].self, from: coded) }
      #expect(throws: DecodingError.self) { try JSONDecoder().decode([BootstrapPosition].self, from: coded) }
    }
  }
}
