// This package's codec and liblz4, each with the blocks of the other one. `quire-fuzz codec` does so with more and
// wilder blocks.

#if canImport(CLZ4) && !canImport(Musl)
  import CLZ4
  import QuireLZ4
  import QuireTesting
  import Testing

  @Suite struct LibraryTests {
    @Test("Either codec decodes what the other one encodes", arguments: Content.allCases)
    func blocksAreShared(content: Content) throws {
      for byteCount in RoundTripTests.byteCounts.dropFirst() {
        let value = content.bytes(byteCount, seed: UInt64(byteCount))
        #expect(decodedByLibrary(try #require(encoded(value)), byteCount) == value, "\(byteCount) bytes")
        #expect(decoded(encodedByLibrary(value), byteCount) == value, "\(byteCount) bytes")
      }
    }

    @Test(
      "So it is with a dictionary", .enabled(if: TestSize.hasSlowTests, "slow"), arguments: [1, 8, 500, 16_384, 65_536])
    func blocksWithDictionariesAreShared(dictionaryByteCount: Int) throws {
      let dictionary = Content.text.bytes(dictionaryByteCount, seed: 21)
      for byteCount in RoundTripTests.byteCounts.dropFirst() where byteCount < 32_768 {
        let value = Content.text.bytes(byteCount, seed: UInt64(byteCount))
        let ours = try #require(encoded(value, dictionary: dictionary))
        #expect(decodedByLibrary(ours, byteCount, dictionary) == value, "\(byteCount) bytes")
        let theirs = encodedByLibrary(value, dictionary)
        #expect(decoded(theirs, byteCount, dictionary: dictionary) == value, "\(byteCount) bytes")
      }
    }

    @Test("Blocks are as short as liblz4's, within a thirtieth")
    func blocksAreShort() throws {
      let dictionary = Content.text.bytes(4_000, seed: 31)
      var (ours, theirs) = (0, 0)
      for number in 0..<200 {
        let value = Content.text.bytes(200 + number * 10, seed: UInt64(100 + number))
        for dictionary in [[], dictionary] {
          ours += try #require(encoded(value, dictionary: dictionary)).count
          theirs += encodedByLibrary(value, dictionary).count
        }
      }
      #expect(ours * 30 <= theirs * 31, "\(ours) bytes, liblz4 \(theirs)")
    }

    @Test("Changed blocks are refused by both, or decoded to the same")
    func changedBlocksAreJudgedAlike() throws {
      var random = SeededRandom(seed: 41)
      var acceptedCount = 0
      for number in 0..<TestSize.trials(100_000, divisor: 25) {
        let value = Content.allCases[number % 4].bytes(random.below(120), seed: random.next())
        var block = try #require(encoded(value))
        block[random.below(block.count)] = random.oneIn(3) ? 255 : UInt8(truncatingIfNeeded: random.next())
        let (ours, theirs) = (decoded(block, value.count), decodedByLibrary(block, value.count))
        if let ours {
          #expect(ours == theirs, "\(block)")
          acceptedCount += 1
        } else if theirs != nil {
          // What liblz4 makes of an offset of 0 is nothing that anybody has written down.
          #expect(zip(block, block.dropFirst()).contains { $0 == 0 && $1 == 0 }, "\(block)")
        }
      }
      #expect(acceptedCount > 1_000)
    }

    private func encodedByLibrary(_ value: [UInt8], _ dictionary: [UInt8] = []) -> [UInt8] {
      var target = [CChar](repeating: 0, count: Int(LZ4_compressBound(Int32(value.count))))
      let stream = LZ4_createStream()
      defer { LZ4_freeStream(stream) }
      let (value, words) = (value.map { CChar(bitPattern: $0) }, dictionary.map { CChar(bitPattern: $0) })
      let written = words.withUnsafeBufferPointer { words in
        if !words.isEmpty { LZ4_loadDict(stream, words.baseAddress, Int32(words.count)) }
        return LZ4_compress_fast_continue(stream, value, &target, Int32(value.count), Int32(target.count), 1)
      }
      return target.prefix(Int(written)).map { UInt8(bitPattern: $0) }
    }

    private func decodedByLibrary(_ block: [UInt8], _ byteCount: Int, _ dictionary: [UInt8] = []) -> [UInt8]? {
      var target = [CChar](repeating: 0, count: byteCount)
      let (block, words) = (block.map { CChar(bitPattern: $0) }, dictionary.map { CChar(bitPattern: $0) })
      let written = LZ4_decompress_safe_usingDict(
        block, &target, Int32(block.count), Int32(byteCount), words, Int32(words.count))
      return written == byteCount ? target.map { UInt8(bitPattern: $0) } : nil
    }
  }
#endif
