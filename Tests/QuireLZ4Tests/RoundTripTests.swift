// What is encoded is decoded again, and takes as many bytes as it should.

import QuireLZ4
import QuireTesting
import Testing

@Suite struct RoundTripTests {
  static let byteCounts = Array(0...80) + [127, 254, 255, 256, 270, 285, 510, 1_000, 4_096, 65_534, 65_535, 65_536]

  @Test("A value of any length and kind comes back", arguments: Content.allCases)
  func comesBack(content: Content) throws {
    for byteCount in Self.byteCounts + [65_600, 200_000] {
      let value = content.bytes(byteCount)
      let block = try #require(encoded(value))
      #expect(decoded(block, byteCount) == value, "\(byteCount) bytes")
      #expect(block.count <= byteCount + byteCount / 255 + 16)
    }
  }

  @Test(
    "A value that has much in common with a dictionary comes back", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: [1, 7, 8, 9, 300, 65_535, 70_000])
  func comesBackWithDictionary(dictionaryByteCount: Int) throws {
    let dictionary = Content.text.bytes(dictionaryByteCount, seed: 2)
    for byteCount in Self.byteCounts {
      let value = Array((dictionary.suffix(200) + Content.text.bytes(byteCount, seed: 3)).prefix(byteCount))
      let block = try #require(encoded(value, dictionary: dictionary))
      #expect(decoded(block, byteCount, dictionary: dictionary) == value, "\(byteCount) bytes")
    }
  }

  @Test("Nothing is one byte")
  func nothingIsOneByte() {
    #expect(encoded([]) == [0])
    #expect(encoded([], room: 0) == nil)
    #expect(decoded([0], 0) == [])
  }

  @Test("Up to twelve bytes are literals, whatever they are", arguments: 1...12)
  func shortValuesAreLiterals(byteCount: Int) {
    let value = Content.equal.bytes(byteCount)
    #expect(encoded(value) == [UInt8(byteCount) << 4] + value)
  }

  @Test("Thirteen equal bytes are one, a match, and the last five")
  func leastMatch() {
    #expect(encoded(Content.equal.bytes(13)) == [0x13, 7, 1, 0, 0x50, 7, 7, 7, 7, 7])
  }

  @Test("A thousand equal bytes are a match into itself")
  func longMatch() {
    #expect(
      encoded(Content.equal.bytes(1_000)) == [0x1f, 7, 1, 0, 255, 255, 255, 210, 0x50, 7, 7, 7, 7, 7])
  }

  @Test("Noise grows by a byte for each 255, and one or two")
  func noiseGrowsLittle() throws {
    for byteCount in [14, 15, 100, 269, 270, 10_000] {
      let block = try #require(encoded(Content.noise.bytes(byteCount)))
      #expect(block.count == byteCount + 1 + (byteCount < 15 ? 0 : (byteCount - 15) / 255 + 1))
    }
  }

  @Test("What is in the dictionary is a reference")
  func dictionaryIsReferredTo() throws {
    let dictionary = Content.noise.bytes(4_000)
    let value = Array(dictionary[1_000..<1_200]) + Content.noise.bytes(6, seed: 9)
    let block = try #require(encoded(value, dictionary: dictionary))
    #expect(block.count < 16)
    #expect(decoded(block, value.count, dictionary: dictionary) == value)
    #expect(decoded(block, value.count) == nil)
  }

  @Test("A match goes on from the dictionary into the value")
  func matchLeavesDictionary() throws {
    let dictionary = Content.noise.bytes(40)
    let value = dictionary + dictionary + dictionary
    let block = try #require(encoded(value, dictionary: dictionary))
    #expect(block.count < 12)
    #expect(decoded(block, value.count, dictionary: dictionary) == value)
  }

  @Test("Only what is near enough is referred to")
  func farPlacesAreLiterals() throws {
    let piece = Content.noise.bytes(1_000, seed: 4)
    for byteCount in [60_000, 66_000] {
      let middle = Content.text.bytes(byteCount, seed: 5)
      let value = piece + middle + piece
      let block = try #require(encoded(value))
      let alone = try #require(encoded(middle)).count
      #expect(byteCount == 60_000 ? block.count < alone + 1_100 : block.count > alone + 1_900)
      #expect(decoded(block, value.count) == value)
    }
  }

  @Test("A block has no room in less than it takes, and room in as much", arguments: Content.allCases)
  func roomIsKept(content: Content) throws {
    for byteCount in [1, 13, 40, 300, 1_000] {
      let value = content.bytes(byteCount)
      let block = try #require(encoded(value))
      for room in max(0, block.count - 40)..<block.count { #expect(encoded(value, room: room) == nil) }
      #expect(encoded(value, room: block.count) == block)
    }
  }

  @Test("Short values are encoded with small tables")
  func tablesFitValues() {
    #expect(LZ4Encoder.tableByteCount(for: 100) <= 1_024)
    #expect(LZ4Encoder.tableByteCount(for: 60_000) == LZ4Encoder.mostTableByteCount)
    #expect(LZ4Encoder.tableByteCount(for: 1 << 20) == LZ4Encoder.mostTableByteCount)
  }
}
