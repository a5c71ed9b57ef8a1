// A new key for all rows, and encryption for rows that had none, on a disk that loses power in the middle.

#if Encryption
  import QuireDatabase
  import QuireTesting
  import Testing

  @Suite struct EncryptionRotationTests {
    private static let rowCount = 90

    private func options(_ durability: Durability) -> Database.Options {
      var options = Database.Options(
        durability: durability, cacheSize: 4 << 20, logLimit: 256 << 10, maintainsWhenIdle: false)
      options.buildStepRowCount = 9
      return options
    }

    @Test func afterItNothingNeedsTheOldKey() throws {
      let (old, new) = (try testKey(1), try testKey(2))
      let db = try Database.inMemory()
      try db.fill(.diary(KeyRing(current: old)), 0..<500)
      let both = KeyRing(current: new, older: [old])
      // While it goes on, rows of both keys are read and written.
      var steps = 0
      var told: [Double] = []
      let result = try db.rewriteRows(of: .diary(both)) { progress throws in
        steps += 1
        told.append(progress.fraction)
        #expect(try db.hasExamples(.diary(both), 0..<500))
      }
      #expect(result.rewrittenCount == 500 && steps > 0 && told == told.sorted())
      #expect(try db.keyIDs() == [new.id])
      #expect(try db.hasExamples(.diary(KeyRing(current: new)), 0..<500))
      #expect(try db.rewriteRows(of: .diary(both)).rewrittenCount == 0)
      #expect(
        errorCode { try db.read { tx throws in _ = try tx[.diary(KeyRing(current: old))].get("d1") } }
          == .missingKey)
    }

    @Test func withoutTheOldKeyItEndsAtTheFirstRow() throws {
      let db = try Database.inMemory()
      try db.fill(.diary(KeyRing(current: try testKey(1))), 0..<20)
      let ring = KeyRing(current: try testKey(2))
      #expect(errorCode { try db.rewriteRows(of: .diary(ring)) } == .missingKey)
      #expect(try db.rewriteRows(of: .diary(ring), skippingFailures: true).failedCount == 20)
      #expect(try db.keyIDs() == [testKey(1).id])
    }

    @Test(arguments: [Durability.full, .relaxed], [false, true])
    func aRotationThatIsCutOffIsGoneOnWith(_ durability: Durability, fromPlain: Bool) throws {
      var random = SeededRandom(seed: fromPlain ? 21 : 20)
      let (old, new) = (try testKey(1), try testKey(2))
      let both = KeyRing(current: new, older: [old])
      let rotated = RowCollection<Diary, String>.diary(both, acceptsPlain: fromPlain)
      let start = SimulatedDisk()
      let first = try start.openDatabase(seed: 1, options(durability))
      try first.fill(fromPlain ? .plainDiary : .diary(KeyRing(current: old)), 0..<Self.rowCount, together: 30)
      try first.close()

      let whole = start.copy()
      let db = try whole.openDatabase(seed: 2, options(durability))
      let before = whole.changeCount
      try db.rewriteRows(of: rotated)
      let changeCount = whole.changeCount - before
      #expect(try db.keyIDs() == [new.id] && db.hasExamples(.diary(both), 0..<Self.rowCount))
      try db.close()

      var unfinished = 0
      for cut in 0...(changeCount + 1) {
        var disk = start.copy()
        for attempt in 0..<4 {
          let db = try disk.openDatabase(seed: UInt64(cut), options(durability))
          // Whatever was cut off, every row is there, with one key or the other.
          #expect(try db.hasExamples(rotated, 0..<Self.rowCount))
          try db.checkInvariants()
          if attempt < 3 { disk.powerOff(beforeChange: disk.changeCount + (attempt == 0 ? cut : random.below(30))) }
          let isDone = (try? db.rewriteRows(of: rotated)) != nil
          let image = disk.crashImage(.random(random.next()))
          try? db.close()
          disk = image
          if !isDone {
            unfinished += 1
            continue
          }
          // It returned: the old key may be thrown away.
          let again = try disk.openDatabase(seed: 3, options(durability))
          #expect(try again.keyIDs() == [new.id])
          #expect(try again.hasExamples(.diary(KeyRing(current: new)), 0..<Self.rowCount))
          try again.close()
          break
        }
      }
      #expect(unfinished > changeCount / 2)
    }
  }
#endif
