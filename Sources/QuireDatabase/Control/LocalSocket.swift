// A stream between two processes of one machine: the system's calls, and nothing of what is said.

internal import QuireStorage

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// One end of a connection, or a socket that waits for connections. Closed when the last reference goes; what goes over
/// it is one thread's business, and `stop` anybody's.
final class LocalSocket: Sendable {
  /// What came of waiting for the other side.
  enum Outcome: Equatable {
    /// So many bytes went over; none if there is no room, or nothing to take, before the time was over.
    case moved(Int)
    /// There is nobody any more.
    case ended
  }

  /// Who is at the other end.
  struct Peer: Equatable {
    /// The process; nil where the system does not tell.
    var process: Int32?
    /// The user that it runs as.
    var user: UInt32
  }

  /// The longest path of a socket, in bytes: the system has an array of this length, a zero at its end included.
  static let pathByteCount = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  private let descriptor: Int32

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { _ = close(descriptor) }

  // MARK: Making

  #if canImport(Darwin)
    private static let kind = SOCK_STREAM
    private static let flags: Int32 = 0
    private static let sendFlags = MSG_DONTWAIT
  #else
    #if canImport(Glibc)
      private static let kind = Int32(SOCK_STREAM.rawValue)
      /// Programs that this one starts get no copy, from the first moment on.
      private static let flags = Int32(SOCK_CLOEXEC.rawValue)
    #else
      private static let kind = Int32(SOCK_STREAM)
      /// Programs that this one starts get no copy, from the first moment on.
      private static let flags = Int32(SOCK_CLOEXEC)
    #endif
    private static let sendFlags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
  #endif

  /// A socket without a name.
  private static func make() throws(SystemError) -> LocalSocket {
    let descriptor = socket(AF_UNIX, kind | flags, 0)
    guard descriptor >= 0 else { throw SystemError(code: errno, call: "socket") }
    return adopt(descriptor)
  }

  private static func adopt(_ descriptor: Int32) -> LocalSocket {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    #if canImport(Darwin)
      var one: Int32 = 1
      _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &one, socklen_t(MemoryLayout<Int32>.size))
    #endif
    return LocalSocket(descriptor)
  }

  /// Two sockets that are connected.
  static func pair() throws(SystemError) -> (LocalSocket, LocalSocket) {
    var ends: [Int32] = [-1, -1]
    guard unsafe socketpair(AF_UNIX, kind | flags, 0, &ends) == 0 else {
      throw SystemError(code: errno, call: "socketpair")
    }
    return (adopt(ends[0]), adopt(ends[1]))
  }

  /// A socket of this name, which only the user may connect to. Nobody can before it listens.
  ///
  /// - Throws: `EADDRINUSE` if there is something at the path.
  static func bound(to path: String) throws(SystemError) -> LocalSocket {
    let made = try make()
    // Where the system has it so, the name is made with this mode at once.
    _ = fchmod(made.descriptor, 0o600)
    guard unsafe made.withAddress(path, { unsafe bind(made.descriptor, $0, $1) }) == 0 else {
      throw SystemError(code: errno, call: "bind")
    }
    guard unsafe chmod(path, 0o600) == 0 else {
      let error = SystemError(code: errno, call: "chmod")
      _ = unsafe unlink(path)
      throw error
    }
    return made
  }

  /// Lets others connect.
  func listen(_ count: Int32) throws(SystemError) {
    guard systemListen(descriptor, count) == 0 else { throw SystemError(code: errno, call: "listen") }
  }

  /// A connection to the socket of this name; where many wait to be heard, waits until `deadline` for a place.
  ///
  /// - Throws: `ECONNREFUSED` if nobody listens; `EAGAIN` if too many wait to be heard.
  static func connected(to path: String, until deadline: UInt64 = 0) throws(SystemError) -> LocalSocket {
    let made = try make()
    while unsafe made.withAddress(path, { unsafe connect(made.descriptor, $0, $1) }) != 0 {
      let code = errno
      // Nothing tells when there is a place.
      guard code == EAGAIN, MonotonicClock.now < deadline else { throw SystemError(code: code, call: "connect") }
      usleep(5000)
    }
    return made
  }

  private func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    let bytes = Array(path.utf8)
    guard bytes.count <= Self.pathByteCount, !bytes.contains(0) else {
      errno = ENAMETOOLONG
      return -1
    }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    return unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe body(address, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  // MARK: Connections

  /// The next connection; nil if there is none now, or the system has no descriptor for it.
  func accept() -> LocalSocket? {
    let next = systemAccept(descriptor)
    return next >= 0 ? Self.adopt(next) : nil
  }

  /// Waits until there is a connection to accept; false if `other` was stopped.
  func awaitConnection(unless other: LocalSocket) -> Bool {
    var waiting = [
      pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: other.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    _ = unsafe poll(&waiting, 2, -1)
    return waiting[1].revents == 0
  }

  /// Waits for `milliseconds`, or until it was stopped.
  func rest(milliseconds: Int32) {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    _ = unsafe poll(&waiting, 1, milliseconds)
  }

  /// Who is at the other end, as the system says; nil if it does not.
  var peer: Peer? {
    #if canImport(Darwin)
      var (user, group): (uid_t, gid_t) = (0, 0)
      guard unsafe getpeereid(descriptor, &user, &group) == 0 else { return nil }
      var (process, count) = (pid_t(0), socklen_t(MemoryLayout<pid_t>.size))
      let isKnown = unsafe getsockopt(descriptor, SOL_LOCAL, LOCAL_PEERPID, &process, &count) == 0
      return Peer(process: isKnown ? process : nil, user: user)
    #else
      // Process, user and group, as the kernel has them; the header declares them for programs that ask for everything.
      var words: [Int32] = [0, -1, -1]
      var count = socklen_t(words.count * MemoryLayout<Int32>.size)
      guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &words, &count) == 0, count == 12 else { return nil }
      return Peer(process: words[0] > 0 ? words[0] : nil, user: UInt32(bitPattern: words[1]))
    #endif
  }

  /// Ends the connection for both sides, or wakes who waits for this socket. From any thread, any number of times.
  func stop() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

  // MARK: Bytes

  /// Takes up to `limit` bytes that have come; waits until `deadline` for some.
  func receive(into bytes: inout [UInt8], limit: Int, until deadline: UInt64) -> Outcome {
    var chunk = [UInt8](repeating: 0, count: limit)
    while true {
      let count = unsafe chunk.withUnsafeMutableBytes { unsafe systemReceive(descriptor, $0) }
      if count > 0 {
        bytes += chunk[..<count]
        return .moved(count)
      }
      if count == 0 { return .ended }
      guard isWorthWaiting(errno) else { return .ended }
      if !wait(for: POLLIN, until: deadline) { return .moved(0) }
    }
  }

  /// Gives some of the bytes to the other side; waits until `deadline` for room.
  func send(_ bytes: ArraySlice<UInt8>, until deadline: UInt64) -> Outcome {
    while true {
      let count = unsafe bytes.withUnsafeBytes { unsafe systemSend(descriptor, $0, Self.sendFlags) }
      if count >= 0 { return .moved(count) }
      guard isWorthWaiting(errno) else { return .ended }
      if !wait(for: POLLOUT, until: deadline) { return .moved(0) }
    }
  }

  private func isWorthWaiting(_ code: Int32) -> Bool { code == EAGAIN || code == EWOULDBLOCK || code == EINTR }

  /// Waits until the other side has done something; false if `deadline` came first.
  private func wait(for events: some BinaryInteger, until deadline: UInt64) -> Bool {
    while true {
      let now = MonotonicClock.now
      guard now < deadline else { return false }
      // In parts: no number of milliseconds is too large, and none is cut to nothing.
      let milliseconds = Int32(min((deadline - now) / 1_000_000 + 1, 60_000))
      var waiting = pollfd(fd: descriptor, events: Int16(events), revents: 0)
      let result = unsafe poll(&waiting, 1, milliseconds)
      if result > 0 { return true }
      if result < 0, errno != EINTR { return true }
    }
  }
}

// The calls of which the type has members of the same name, or whose buffers may be null on some systems alone.

private func systemListen(_ descriptor: Int32, _ count: Int32) -> Int32 { listen(descriptor, count) }

private func systemAccept(_ descriptor: Int32) -> Int32 { accept(descriptor, nil, nil) }

private func systemReceive(_ descriptor: Int32, _ bytes: UnsafeMutableRawBufferPointer) -> Int {
  guard let base = bytes.baseAddress else { return 0 }
  return unsafe recv(descriptor, base, bytes.count, 0)
}

private func systemSend(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, _ flags: Int32) -> Int {
  guard let base = bytes.baseAddress else { return 0 }
  return unsafe send(descriptor, base, bytes.count, flags)
}
