/* Preloaded into each process of a pod: what listens everywhere, or on this machine's own 127.0.0.1, listens on the pod's address,
   and what connects to 127.0.0.1 connects there. So pods on one machine do not meet on their ports, and a pod's own processes still
   find one another. POD_IP names the address. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

static bool is_own(const struct in_addr *address, bool also_everywhere) {
    return address->s_addr == htonl(INADDR_LOOPBACK) || (also_everywhere && address->s_addr == htonl(INADDR_ANY));
}

static bool is_own_six(const struct in6_addr *address, bool also_everywhere) {
    struct in_addr mapped;
    if (IN6_IS_ADDR_V4MAPPED(address)) {
        memcpy(&mapped, &address->s6_addr[12], sizeof mapped);
        return is_own(&mapped, also_everywhere);
    }
    return IN6_IS_ADDR_LOOPBACK(address) || (also_everywhere && IN6_IS_ADDR_UNSPECIFIED(address));
}

/* Copies an address into result; true if it is one that the pod's stands for, and result is then that. */
static bool moved(int socket, const struct sockaddr *address, socklen_t length, bool also_everywhere, union address *result) {
    const char *name = getenv("POD_IP");
    struct in_addr pod;
    int type = 0, off = 0;
    socklen_t size = sizeof type;
    if (!name || inet_pton(AF_INET, name, &pod) != 1 || length > sizeof *result) return false;
    if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) return false;
    memcpy(result, address, length);
    if (address->sa_family == AF_INET && length >= sizeof result->four && is_own(&result->four.sin_addr, also_everywhere)) {
        result->four.sin_addr = pod;
        return true;
    }
    if (address->sa_family == AF_INET6 && length >= sizeof result->six && is_own_six(&result->six.sin6_addr, also_everywhere)) {
        setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
        memset(&result->six.sin6_addr, 0, 10);
        memset(&result->six.sin6_addr.s6_addr[10], 0xff, 2);
        memcpy(&result->six.sin6_addr.s6_addr[12], &pod, sizeof pod);
        return true;
    }
    return false;
}

typedef int (*call)(int, const struct sockaddr *, socklen_t);

int bind(int socket, const struct sockaddr *address, socklen_t length) {
    union address result;
    call next = (call)dlsym(RTLD_NEXT, "bind");
    return next(socket, moved(socket, address, length, true, &result) ? &result.any : address, length);
}

int connect(int socket, const struct sockaddr *address, socklen_t length) {
    union address result;
    call next = (call)dlsym(RTLD_NEXT, "connect");
    return next(socket, moved(socket, address, length, false, &result) ? &result.any : address, length);
}
