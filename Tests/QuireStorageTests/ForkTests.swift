// A process that forks while it has a database open: the child is told off by every call, and can hurt nobody.

import QuireStorage
import QuireTesting
import Testing

#if os(Linux)
  import Glibc

  /// The system's `fork`, which Swift hides because little works in the child of a process with several threads.
  private func forkProcess() -> pid_t {
    typealias Fork = @convention(c) () -> pid_t
    guard let symbol = dlsym(nil, "fork") else { return -1 }
    return unsafeBitCast(symbol, to: Fork.self)()
  }

  /// Runs `body` in a forked child, and returns its exit status; -1 if it was killed or did not end in ten seconds.
  private func inForkedChild(_ body: () -> Int32) -> Int32 {
    let child = forkProcess()
    if child == 0 { exit(body()) }
    guard child > 0 else { return -1 }
    for _ in 0..<1000 {
      var status: Int32 = 0
      if waitpid(child, &status, WNOHANG) == child { return status & 0x7f == 0 ? status >> 8 & 0xff : -1 }
      usleep(10_000)
    }
    kill(child, SIGKILL)
    waitpid(child, nil, 0)
    return -1
  }

  private func code(_ body: () throws -> Void) -> StorageError.Code? {
    do {
      try body()
      return nil
    } catch { return (error as? StorageError)?.code }
  }

  @Suite struct ForkTests {
    let folder = TemporaryFolder()
    var path: String { folder.path + "/a.quire" }

    /// Every call in the child, and that the parent goes on as before with its lock.
    @Test func childIsRefused() async throws {
      await #expect(processExitsWith: .success) { [path = path as String] in
        do {
          // Stepped, or its threads would write a mark while the files are looked at.
          let engine = try StorageEngine(
            at: path, options: StorageOptions(), environment: StorageEnvironment(scheduling: .stepped))
          try TinyDatabase.fill(engine, count: 400)
          let pin = try engine.pin()
          let before = try DatabaseContent(of: engine)
          let image = FolderImage(of: String(path.dropLast("/a.quire".count)))
          let status = inForkedChild {
            let calls: [() throws -> Void] = [
              { _ = try engine.read { tx in tx.treeNames } }, { try TinyDatabase.fill(engine, count: 4) },
              { try engine.flush() }, { try engine.checkpoint() }, { try engine.compact() }, { try engine.verify() },
              { _ = try engine.pin() }, { try pin.read { tx in _ = tx.treeNames } }, { try engine.close() },
            ]
            for (index, call) in calls.enumerated() where code(call) != .forkedProcess { return Int32(10 + index) }
            if engine.statistics.commits != 0 { return 30 }
            // The lock is the parent's, and the parent lives.
            return code { _ = try StorageEngine(at: path) } == .alreadyOpen ? 0 : 31
          }
          if status != 0 { exit(100 + status) }
          guard FolderImage(of: String(path.dropLast("/a.quire".count))) == image else { exit(3) }
          guard code({ _ = try StorageEngine(at: path) }) == .alreadyOpen else { exit(4) }
          try TinyDatabase.fill(engine, count: 40, seed: 2)
          guard try pin.read({ tx in tx.treeNames.count }) == before.trees.count else { exit(5) }
          exit(0)
        } catch { exit(6) }
      }
      let engine = try StorageEngine(at: path)
      try await engine.verify()
      try engine.close()
    }

    /// In the middle of a transaction of parent's, of any length: nothing of it gets out of the child.
    @Test func transactionDoesNotEndInTheChild() async throws {
      await #expect(processExitsWith: .success) { [path = path as String] in
        do {
          let engine = try StorageEngine(
            at: path, options: StorageOptions(cacheSize: 2 << 20, logLimit: 1 << 20),
            environment: StorageEnvironment(partByteCount: 16 << 10))
          let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
          var status: Int32 = -1
          // The child leaves the transaction by returning from it.
          var isChild = false
          let outcome = code {
            try engine.write { tx in
              for number in Int64(0)..<100 { try tx.put("before", for: number, in: tree) }
              let child = forkProcess()
              if child == 0 {
                isChild = true
                // Parts, spills and extents would be written by now.
                for number in Int64(0)..<20_000 { _ = try? tx.put("child, child, child", for: number, in: tree) }
                _ = try? tx.put([UInt8](repeating: 1, count: 100_000), for: Int64(-1), in: tree)
                return
              }
              var raw: Int32 = 0
              waitpid(child, &raw, 0)
              status = raw & 0x7f == 0 ? raw >> 8 & 0xff : -1
              for number in Int64(100)..<200 { try tx.put("after", for: number, in: tree) }
            }
          }
          if isChild { exit(outcome == .forkedProcess ? 0 : 9) }
          guard status == 0, outcome == nil else { exit(3) }
          try engine.close()
          let again = try StorageEngine(at: path)
          try again.verify()
          let (count, first, extra) = try again.read { tx in
            (
              try tx.count(of: tree), try tx.value(for: Int64(0), in: tree),
              try tx.contains(Int64(-1), in: tree)
            )
          }
          guard count == 200, first == Array("before".utf8), !extra else { exit(4) }
          try again.close()
          exit(0)
        } catch { exit(5) }
      }
    }

    /// What the child opens for itself is its own.
    @Test func childMayOpenWhatItIsAllowedTo() async throws {
      await #expect(processExitsWith: .success) { [path = path as String] in
        do {
          let engine = try StorageEngine(at: path)
          let other = path + "2"
          let status = inForkedChild {
            code {
              let own = try StorageEngine(
                at: other, options: StorageOptions(), environment: StorageEnvironment(scheduling: .stepped))
              try TinyDatabase.fill(own, count: 40)
              try own.close()
            } == nil ? 0 : 1
          }
          if status != 0 { exit(3) }
          try engine.close()
          let own = try StorageEngine(at: other)
          try own.verify()
          try own.close()
          exit(0)
        } catch { exit(4) }
      }
    }

    /// A program that is executed must not inherit files or locks.
    @Test func descriptorsAreClosedByExec() throws {
      let engine = try StorageEngine(at: path)
      try TinyDatabase.fill(engine, count: 40)
      var count = 0
      for descriptor in Int32(0)..<4096 {
        var buffer = [CChar](repeating: 0, count: 4096)
        let length = readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count)
        guard length > 0 else { continue }
        let name = String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard name.hasPrefix(folder.path) else { continue }
        count += 1
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0, "\(name)")
      }
      #expect(count >= 3)
      try engine.close()
    }
  }
#endif
