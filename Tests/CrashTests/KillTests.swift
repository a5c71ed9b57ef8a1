// A process that is killed in the middle of its commits, on the real disk: whatever it was told is there must be there.

import QuireStorage
import QuireTesting
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

#if os(Linux)
  /// A folder that goes away with the test.
  private final class KillFolder {
    let path: String
    init() {
      var template = Array("/tmp/quire-kill-XXXXXX".utf8CString)
      path = template.withUnsafeMutableBufferPointer { buffer in
        guard let base = buffer.baseAddress, mkdtemp(base) != nil else { return "/tmp" }
        return String(cString: base)
      }
    }
    deinit {
      for database in ["db", "register.quire", "register.quire-filling"] {
        unlink("\(path)/\(database)")
        for segment in 0..<Limits.segmentFileCount { unlink("\(path)/\(database)-log\(segment)") }
      }
      rmdir(path)
    }
  }

  /// A running `quire-torture`.
  struct Victim {
    let process: pid_t
    let output: Int32
    private let start = ContinuousClock.now

    init(_ database: String, isRelaxed: Bool, writerCount: Int = 1) throws {
      try self.init(["kill-child", database, "--writers", "\(writerCount)"] + (isRelaxed ? ["--relaxed"] : []))
    }

    /// Starts the tool with these arguments.
    init(_ arguments: [String]) throws {
      var ends: [Int32] = [0, 0]
      try #require(pipe(&ends) == 0)
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
      let words = [Self.executable] + arguments
      var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
      defer { for argument in arguments { free(argument) } }
      var process = pid_t()
      let result = posix_spawn(&process, Self.executable, &actions, nil, &arguments, environ)
      close(ends[1])
      try #require(result == 0, "\(Self.executable) cannot be started: \(systemErrorName(result))")
      (self.process, output) = (process, ends[0])
    }

    /// The tool beside the tests.
    private static let executable: String = {
      var bytes = [CChar](repeating: 0, count: 4096)
      let count = max(0, readlink("/proc/self/exe", &bytes, bytes.count - 1))
      let path = String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
      return path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex) + "/quire-torture"
    }()

    /// Waits for the first acknowledgement. Returns its number, and how many microseconds it took to come.
    func awaitFirst() -> (number: Int64, microseconds: Int) {
      let number = readNumber() ?? 0
      return (number, Int((ContinuousClock.now - start) / .microseconds(1)))
    }

    /// Kills after `microseconds`; returns the newest number that was acknowledged from now on, 0 if there was none,
    /// and nil if the victim ended by itself.
    func kill(after microseconds: Int) -> Int64? {
      var newest: Int64 = 0
      usleep(UInt32(microseconds))
      Glibc.kill(process, SIGKILL)
      while let number = readNumber() { newest = max(newest, number) }
      var status: Int32 = 0
      waitpid(process, &status, 0)
      close(output)
      // A victim that ended by itself has failed.
      return status & 0x7f == SIGKILL ? newest : nil
    }

    /// Reads the output, and kills the process once a line of it satisfies `isReached`. Returns all lines, and whether
    /// it came to the kill.
    func lines(killingAt isReached: (String) -> Bool) -> (lines: [String], isKilled: Bool) {
      var text: [UInt8] = []
      var isKilled = false
      var buffer = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = read(output, &buffer, buffer.count)
        guard count > 0 else { break }
        text += buffer[..<count]
        let newest = String(decoding: text, as: UTF8.self).split(separator: "\n").last.map(String.init) ?? ""
        if !isKilled, isReached(newest) {
          Glibc.kill(process, SIGKILL)
          isKilled = true
        }
      }
      var status: Int32 = 0
      waitpid(process, &status, 0)
      close(output)
      return (String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init), status != 0)
    }

    /// The next number; nil at the end. Eight bytes go through a pipe whole or not at all.
    private func readNumber() -> Int64? {
      var number: Int64 = 0
      let count = withUnsafeMutableBytes(of: &number) { read(output, $0.baseAddress, 8) }
      return count == 8 ? Int64(littleEndian: number) : nil
    }
  }

  // One victim at a time: a second one could inherit the first one's pipe.
  @Suite(.serialized) struct KillTests {
    /// How many rounds each case has: what QUIRE_KILL_ROUNDS says, or few.
    private static var rounds: Int { environmentNumber("QUIRE_KILL_ROUNDS") ?? TestSize.trials(50, divisor: 3) }

    @Test("What was acknowledged survives kill -9", .timeLimit(.minutes(30)), arguments: [false, true], [1, 3])
    func acknowledgedCommitsSurvive(isRelaxed: Bool, writerCount: Int) throws {
      let folder = KillFolder()
      let path = folder.path + "/db"
      var random = SeededRandom(seed: 20)
      var newest: Int64 = 0
      var startup = 0
      for round in 0..<Self.rounds {
        let victim = try Victim(path, isRelaxed: isRelaxed, writerCount: writerCount)
        // Every fifth dies before it acknowledges anything: as it starts, opens, and makes good what the last one left.
        var (first, limit) = (Int64(0), startup)
        if round % 5 != 4 {
          (first, startup) = victim.awaitFirst()
          limit = random.oneIn(4) ? 60_000 : 4000
          #expect(first > newest)
        }
        let acknowledged = victim.kill(after: random.below(max(1, limit)))
        let number = max(first, try #require(acknowledged, "the victim of round \(round) ended by itself"))
        let atLeast = max(newest, number)
        // Of each writer one commit more may have been acknowledged and not been told.
        newest = try check(path, atLeast: atLeast, round: round, opensTwice: random.oneIn(3))
        #expect(newest <= atLeast + Int64(writerCount))
      }
    }

    /// Opens the database and checks that it is exactly what one of the acknowledged numbers left.
    private func check(_ path: String, atLeast number: Int64, round: Int, opensTwice: Bool) throws -> Int64 {
      var counter: Int64 = 0
      for _ in 0..<(opensTwice ? 2 : 1) {
        let engine = try StorageEngine(at: path)
        counter = try engine.read { tx in
          let found = tx.tree(named: "t")
          let tree = try #require(found)
          let text = try tx.value(for: Int64(-1), in: tree)
          let counter = try #require(text.flatMap { Int64(String(decoding: $0, as: UTF8.self)) })
          #expect(counter >= number, "round \(round): commit \(number) was acknowledged, \(counter) is there")
          for key in 0..<Int64(64) {
            let value = try tx.value(for: key, in: tree).map { String(decoding: $0.prefix { $0 != 32 }, as: UTF8.self) }
            let expected = counter - (counter - key) % 64
            #expect(value.flatMap { Int64($0) } == (expected > 0 && counter >= key ? expected : nil), "round \(round)")
          }
          return counter
        }
        // Half of the time the next victim finds a log.
        if round % 2 == 0 { try engine.close() }
      }
      return counter
    }

    @Test(
      "A registration that is killed goes on where it was", .enabled(if: TestSize.hasSlowTests, "slow"),
      .timeLimit(.minutes(10)))
    func registrationGoesOnAfterKills() throws {
      let folder = KillFolder()
      var reached = 0
      for part in [150, 500, 850] {
        let victim = try Victim(["register", folder.path, "--rows", "30000", "--cache", "8"])
        let (lines, isKilled) = victim.lines { line in (Int(line.prefix { $0 != " " }) ?? 0) >= part }
        #expect(isKilled, "it ended before \(part) of 1000")
        let shares = lines.compactMap { Int($0.prefix { $0 != " " }) }
        // Steps are not durable one by one for the disk, but the process alone was killed.
        #expect((shares.first ?? 0) > reached, "it began anew: \(shares), and was at \(reached)")
        reached = shares.last ?? 0
      }
      let (lines, isKilled) = try Victim(["register", folder.path, "--rows", "30000"]).lines { _ in false }
      #expect(!isKilled)
      #expect(lines.last?.hasPrefix("30000 rows; was building") == true, "\(lines.last ?? "")")
      // Once it is ready there is nothing to do.
      let (again, _) = try Victim(["register", folder.path, "--rows", "30000"]).lines { _ in false }
      #expect(again.count == 1 && again[0].hasPrefix("30000 rows; was ready"), "\(again)")
    }
  }
#endif
