// A hundred processes that want one database: one gets it, whatever becomes of it then.

import QuireStorage
import QuireTesting
import Testing

#if os(Linux)
  import Glibc

  @Suite struct ManyOpenersTests {
    let folder = TemporaryFolder()
    var path: String { folder.path + "/a.quire" }

    /// Starts a process that commits numbers until it is killed; what it complains of goes to `complaints`.
    private func start(_ program: String, complaints: Int32) -> pid_t? {
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
      posix_spawn_file_actions_adddup2(&actions, complaints, 2)
      let arguments: [String] = [program, "kill-child", path, "--relaxed"]
      var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
      defer { for word in words { free(word) } }
      var process = pid_t()
      return posix_spawn(&process, program, &actions, nil, &words, environ) == 0 ? process : nil
    }

    @Test(.enabled(if: TestSize.hasSlowTests, "slow")) func oneOfAHundredWins() throws {
      let program = try #require(toolPath("quire-torture"))
      // A pipe for each: what several write to one standard error at once comes out mixed.
      var complaints: [pid_t: Int32] = [:]
      for _ in 0..<100 {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        complaints[try #require(start(program, complaints: ends[1]))] = ends[0]
        close(ends[1])
      }
      defer { for end in complaints.values { close(end) } }
      // Who is refused says by whom, and ends.
      var losers: Set<pid_t> = []
      while losers.count < 99 {
        for process in complaints.keys where !losers.contains(process) {
          if waitpid(process, nil, WNOHANG) == process { losers.insert(process) }
        }
        usleep(1000)
      }
      let winner = try #require(complaints.keys.first { !losers.contains($0) })
      defer {
        kill(winner, SIGKILL)
        waitpid(winner, nil, 0)
      }
      for loser in losers {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(complaints[loser] ?? -1, &bytes, bytes.count)
        let text = String(decoding: bytes[..<max(0, count)], as: UTF8.self)
        #expect(text.contains("alreadyOpen") && text.contains("in process \(winner)."), "\(text)")
      }
      // A holder that was suspended holds on, and one that was killed does not.
      kill(winner, SIGSTOP)
      for isReadOnly in [false, true] {
        let start = ContinuousClock.now
        let error = #expect(throws: StorageError.self) {
          try StorageEngine(at: path, options: StorageOptions(isReadOnly: isReadOnly))
        }
        #expect(error?.code == .alreadyOpen && error?.holderProcessID == winner)
        // A tenth of that, on a machine that has nothing else to do.
        #expect(ContinuousClock.now - start < .seconds(1))
      }
      kill(winner, SIGKILL)
      waitpid(winner, nil, 0)
      let engine = try StorageEngine(at: path)
      try engine.verify()
      try engine.close()
    }
  }
#endif
