// What an app is told of each thing that can be wrong with an encrypted value, in every build.

import QuireTesting
import Testing

@testable import QuireDatabase

@Suite struct SealErrorTests {
  @Test(
    "Each failure has a code to act upon, and says what to do",
    arguments: [
      (.malformed, .damagedRow, "from a backup"), (.unknownForm(9), .newerFormat, "way 9"),
      (.missingKey(0xbeef), .missingKey, "0000beef"), (.notAuthentic, .notAuthentic, "moved from another row"),
      (.notExpected(0xdead_beef), .missingKey, "deadbeef"), (.notSealed, .notEncrypted, "acceptsPlain: true"),
    ] as [(SealError, DatabaseError.Code, String)])
  func everyFailure(failure: SealError, code: DatabaseError.Code, text: String) {
    for half in [RowHalf.object, .metadata] {
      let error = failure.error(half, "/a.quire", "diary", "d1")
      #expect(error.code == code && error.message.contains(text) && error.message.contains(half.name), "\(error)")
      #expect(error.path == "/a.quire" && error.collection == "diary" && error.key == "d1")
      #expect(error.cause as? SealError == failure)
    }
  }
}
